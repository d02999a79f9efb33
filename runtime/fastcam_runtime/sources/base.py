"""The one interface of everything that frames come from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from types import TracebackType
from typing import ClassVar, TypeVar

import cv2

from ..errors import SourceError
from ..image import Image
from ..uri_kinds import UriKind

FLIPS = {"horizontal": 1, "vertical": 0, "both": -1}
"""The words that turn a picture, and what `cv2.flip` calls them; `both` is half a turn."""

_Self = TypeVar("_Self", bound="Source")


@dataclass(frozen=True)
class Frame:
    """One picture of a source; its pixels stay as they are, and may be read-only: draw on a copy."""

    image: Image
    index: int
    """Counted from 0 over what the source has: there are gaps where a live one dropped frames, or where a
    lower rate was asked for."""
    time: float
    """`time.monotonic()` when the picture was captured, or began to be read from its file."""
    name: str = ""
    """The path of its file, where every picture is a file of its own."""


class Source(ABC):
    """Where frames come from: read until None, then close.

    `read` is called by one thread. `close` may be called from any thread, more than once, and ends a `read`
    that is waiting.
    """

    live: ClassVar[bool] = False
    """A live source keeps only the newest frame; any other delivers its frames in order."""

    fps: float | None = None
    """Frames per second, as the source declares or was asked for; None if it does not say."""

    stills: bool = False
    """Photos that nobody asked a rate for: how many were shown per second tells nothing."""

    dropped: int = 0
    """Frames of a live source that were replaced by a newer one before they were read."""

    skipped: int = 0
    """Frames or files that could not be decoded and were passed over."""

    reconnects: int = 0
    """How often a lost live source was opened again."""

    @abstractmethod
    def read(self) -> Frame | None:
        """The next frame; a live source waits for one. None at the end, or once closed.

        Raises:
            SourceError: the source turns out to hold nothing that can be read.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of the device or file."""

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@dataclass(frozen=True)
class SourceOptions:
    """What can be asked of any source.

    Args:
        size: Width and height of every frame. A camera is asked for it; what comes otherwise is resized.
        fps: A camera is asked for this rate; of whatever has a higher one, frames are left out;
            photos, which have no rate, get this one.
        flip: `horizontal`, `vertical` or `both`.
        loop: Begin again at the end; has no meaning for a live source.
        paced: Give the frames of a file at its rate: somebody is watching.
    """

    size: tuple[int, int] | None = None
    fps: float | None = None
    flip: str | None = None
    loop: bool = False
    paced: bool = False

    def __post_init__(self) -> None:
        if self.size is not None and not all(1 <= side <= 16384 for side in self.size):
            raise SourceError(f"size {self.size[0]}x{self.size[1]} is not between 1x1 and 16384x16384")
        if self.fps is not None and not 0 < self.fps <= 1000:
            raise SourceError(f"rate {self.fps} is not a number of frames per second (above 0, at most 1000)")
        if self.flip is not None and self.flip not in FLIPS:
            raise SourceError(f"flip {self.flip!r} is not one of {', '.join(FLIPS)}")

    def apply(self, image: Image) -> Image:
        """The picture resized and flipped as asked."""
        if self.size is not None and (image.shape[1], image.shape[0]) != self.size:
            shrinks = self.size[0] * self.size[1] < image.shape[0] * image.shape[1]
            image = cv2.resize(
                image, self.size, interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
            )
        if self.flip is not None:
            image = cv2.flip(image, FLIPS[self.flip])
        return image


SourceKind = UriKind[SourceOptions, Source]
