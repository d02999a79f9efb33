"""The one interface of everything that pictures go to."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import ClassVar, TypeVar

from ..classes import Prediction
from ..image import Image
from ..live.controls import Controls
from ..uri_kinds import UriKind

_Self = TypeVar("_Self", bound="Sink")


@dataclass(frozen=True)
class Status:
    """What is known about a picture when it is shown."""

    frame: int
    """The index of its frame."""
    label: str = ""
    score: float | None = None
    """The probability of `label`, 0…1; None where the network tells no class."""
    fps: float | None = None
    """Pictures per second of late; None before the second one, and for photos."""
    latency: Mapping[str, float] = field(default_factory=dict)
    """Milliseconds per stage, in the order of the stages."""
    view: str = ""
    class_choice: str | None = None
    dropped: int = 0
    name: str = ""
    """The path of its frame's file, where every frame is a file of its own."""
    prediction: Prediction | None = None
    """The class with the highest score; `label` is the one explained."""


def finite(value: float | None) -> float | None:
    """A figure of a status for JSON, which has no NaN and no infinity."""
    return round(value, 6) if value is not None and math.isfinite(value) else None


class Sink(ABC):
    """Where pictures go: write each, then close.

    A sink learns its size from the first picture. `write` and `close` are called by the thread that opened
    the sink (a window needs that). The picture is the caller's again once `write` returns.
    """

    interactive: ClassVar[bool] = False
    """A person looks at it: a pause holds its picture, and a new view of the held frame is written to it."""

    stop_hint: ClassVar[str] = ""
    """The key that ends the loop, and where it is pressed, in words; empty where there is none."""

    @abstractmethod
    def write(self, picture: Image, status: Status) -> None:
        """Show or record one picture (height × width × 3, blue-green-red, uint8).

        Raises:
            SinkError: it cannot be written; what was recorded before is kept by `close`.
        """

    def refresh(self) -> None:  # noqa: B027 (only a window has something to do)
        """React to the user while the last picture stays; called about 20 times a second during a pause."""

    def close(self) -> None:  # noqa: B027 (nothing to finish is a fair answer)
        """Finish what was recorded. Calling it again does nothing.

        Raises:
            SinkError: the recording could not be finished.
        """

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@dataclass(frozen=True)
class SinkOptions:
    """What can be asked of any sink; each takes what it has a use for. Described at `open_sink`."""

    fps: float
    controls: Controls
    token: str | None = None
    real_time: bool = False


@dataclass(frozen=True)
class SinkKind(UriKind[SinkOptions, Sink]):
    """A kind of sink."""

    interactive: bool = False
    """A person looks at it; as `Sink.interactive`."""
