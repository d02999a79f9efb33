"""The interface of all sinks."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

from ..classes import Prediction
from ..explanation import Explanation
from ..image import Image
from ..live.controls import Controls
from ..live.metrics import LoopMetrics
from ..network.certificate import Certificate
from ..uri_kinds import UriKind
from .kept_folder import KeptFolder

_Self = TypeVar("_Self", bound="Sink")


@dataclass(frozen=True)
class Status:
    """The data that comes with a picture."""

    frame: int
    """The index of its frame."""
    label: str = ""
    score: float | None = None
    """The probability of `label`, 0…1; None if the network has no class scores."""
    fps: float | None = None
    """Recent pictures per second; None before the second one, and for photos."""
    latency: Mapping[str, float] = field(default_factory=dict)
    """Milliseconds per stage, in the order of the stages."""
    view: str = ""
    class_choice: str | None = None
    dropped: int = 0
    name: str = ""
    """The path of the frame's file, if each frame is a file."""
    top: tuple[Prediction, ...] = ()
    """The classes with the highest scores; `label` is the class that is explained."""
    time: float = 0.0
    """When the frame was captured, in seconds since 1970."""
    cold: bool = False
    """A cold frame: the first one, or the first of another view or class. It warms up caches and memory."""
    explanation: Explanation | None = None
    image: Image | None = None
    """The frame itself, without anything drawn on it. Its pixels do not change."""

    @property
    def prediction(self) -> Prediction | None:
        """The class with the highest score; None if the network has no class scores."""
        return self.top[0] if self.top else None


def finite(value: float | None) -> float | None:
    """A number for JSON: rounded, and None for NaN and infinity, which JSON lacks."""
    return round(value, 6) if value is not None and math.isfinite(value) else None


class Sink(ABC):
    """Where pictures go: call `write` for each, then `close`.

    A sink takes its size from the first picture. `write`, `refresh` and `close` are called by the thread that
    opened the sink; a window needs that. A sink must not keep the picture after `write` returns: copy it.
    """

    interactive: ClassVar[bool] = False
    """Whether a person looks at it. A pause holds its picture; a new view of the held frame is written."""

    stop_hint: ClassVar[str] = ""
    """How to stop the loop here, as text, e.g. `q in its window`; empty if there is no key for it."""

    @abstractmethod
    def write(self, picture: Image, status: Status) -> None:
        """Show or record one picture (height × width × 3, blue-green-red, uint8).

        Raises:
            SinkError: It cannot be written. `close` still keeps what was recorded before.
        """

    def refresh(self) -> None:  # noqa: B027 (optional)
        """React to the user while the last picture stays; called about 20 times a second during a pause."""

    def close(self) -> None:  # noqa: B027 (optional)
        """Finish the recording. Calling it again is a no-op.

        Raises:
            SinkError: The recording could not be finished.
        """

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True)
class SinkOptions:
    """The settings that sinks are opened with; see `open_sink`. Each sink uses what it needs."""

    fps: float
    controls: Controls
    token: str | None = None
    real_time: bool = False
    metrics: LoopMetrics = field(default_factory=LoopMetrics)
    kept: KeptFolder | None = None
    certificate: Certificate | None = None


@dataclass(frozen=True)
class SinkKind(UriKind[SinkOptions, Sink]):
    """A kind of sink."""

    interactive: bool = False
    """Whether a person looks at it, as in `Sink.interactive`."""
