"""The interface of all sources."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import cv2

from ..errors import SourceError
from ..image import Image
from ..uri_kinds import UriKind

FLIPS = {"horizontal": 1, "vertical": 0, "both": -1}
"""Values of `--flip`, and the codes of `cv2.flip`; `both` is a rotation by 180°."""

_Self = TypeVar("_Self", bound="Source")


@dataclass(frozen=True)
class Frame:
    """One frame of a source. Its pixels do not change and may be read-only: draw on a copy."""

    image: Image
    index: int
    """Position in the source, from 0. Dropped frames leave gaps."""
    time: float
    """`time.monotonic()` when the frame was captured, or when reading it from its file began."""
    name: str = ""
    """The path of its file, if each frame is a file."""


class Source(ABC):
    """Where frames come from: call `read` until it returns None, then `close`.

    `read` is called by one thread. `close` may be called from any thread, more than once, and wakes a waiting
    `read`.
    """

    live: ClassVar[bool] = False
    """A live source keeps only the newest frame; any other source delivers all its frames in order."""

    fps: float | None = None
    """Frames per second, as declared or requested; None if unknown."""

    stills: bool = False
    """The frames are photos and no rate was requested, so a frame rate has no meaning."""

    dropped: int = 0
    """Frames of a live source that were replaced by a newer one before they were read."""

    skipped: int = 0
    """Frames or files that could not be decoded."""

    reconnects: int = 0
    """How often a lost live source was reopened."""

    @abstractmethod
    def read(self) -> Frame | None:
        """The next frame; a live source waits for one. None at the end, or once closed.

        Raises:
            SourceError: Nothing in the source can be read.
        """

    @abstractmethod
    def close(self) -> None:
        """Release the device or file."""

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True)
class SourceOptions:
    """The settings that sources are opened with.

    Args:
        size: Width and height of every frame. Requested from a camera; other frames are resized.
        fps: Frame rate. Requested from a camera; a faster source has frames dropped. Photos get this rate.
        flip: `horizontal`, `vertical` or `both`.
        loop: Start again at the end; ignored by a live source.
        alpha: Keep the opacity of pictures that have one: their frames are H×W×4.
        paced: Deliver the frames of a file at its frame rate, for a viewer; else as fast as possible.
    """

    size: tuple[int, int] | None = None
    fps: float | None = None
    flip: str | None = None
    loop: bool = False
    paced: bool = False
    alpha: bool = False

    def __post_init__(self) -> None:
        if self.size is not None and not all(1 <= side <= 16384 for side in self.size):
            raise SourceError(f"size {self.size[0]}x{self.size[1]} is not between 1x1 and 16384x16384")
        if self.fps is not None and not 0 < self.fps <= 1000:
            raise SourceError(f"rate {self.fps} is not a number of frames per second (above 0, at most 1000)")
        if self.flip is not None and self.flip not in FLIPS:
            raise SourceError(f"flip {self.flip!r} is not one of {', '.join(FLIPS)}")

    def apply(self, image: Image) -> Image:
        """The image, resized and flipped as requested."""
        if self.size is not None and (image.shape[1], image.shape[0]) != self.size:
            shrinks = self.size[0] * self.size[1] < image.shape[0] * image.shape[1]
            image = cv2.resize(
                image, self.size, interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
            )
        if self.flip is not None:
            image = cv2.flip(image, FLIPS[self.flip])
        return image


SourceKind = UriKind[SourceOptions, Source]
