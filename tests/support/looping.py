"""A loop, with sources and sinks for tests."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np
from fastcam_runtime import Explainer, Overlay, SourceError
from fastcam_runtime.draw.views import available_views
from fastcam_runtime.live.controls import Controls
from fastcam_runtime.live.evidence import Evidence
from fastcam_runtime.live.loop import Loop, LoopOptions
from fastcam_runtime.sinks import Sink, Status
from fastcam_runtime.sources import Frame, Source

FRAME = (32, 48)


class Counting(Source):
    """Frames of one gray level each: frame i has the level `levels[i]`; raises at frame `fails_at`."""

    def __init__(self, levels: list[int], fails_at: int | None = None) -> None:
        self.levels = levels
        self.fails_at = fails_at
        self.index = 0
        self.closed = False

    def read(self) -> Frame | None:
        if self.index == self.fails_at:
            raise SourceError("the cable was pulled")
        if self.closed or self.index >= len(self.levels):
            return None
        image = np.full((*FRAME, 3), self.levels[self.index], np.uint8)
        self.index += 1
        return Frame(image, self.index - 1, time.monotonic())

    def close(self) -> None:
        self.closed = True


class LiveCounter(Source):
    """A camera of 200 frames a second whose frame number is the time."""

    live = True
    RATE = 200

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.closed = threading.Event()

    def now(self) -> int:
        return int((time.monotonic() - self.started) * self.RATE)

    def read(self) -> Frame | None:
        if self.closed.wait(1 / self.RATE):
            return None
        return Frame(np.zeros((*FRAME, 3), np.uint8), self.now(), time.monotonic())

    def close(self) -> None:
        self.closed.set()


class Recorder(Sink):
    """Keeps every picture and status; `react` is called after each."""

    def __init__(self, react: Callable[[Recorder], None] | None = None) -> None:
        self.pictures: list[np.ndarray] = []
        self.statuses: list[Status] = []
        self.react = react
        self.closed = 0

    def write(self, picture: np.ndarray, status: Status) -> None:
        self.pictures.append(picture.copy())
        self.statuses.append(status)
        if self.react is not None:
            self.react(self)

    def close(self) -> None:
        self.closed += 1

    @property
    def levels(self) -> list[int]:
        return [int(picture[5, 5, 0]) for picture in self.pictures]


class Screen(Recorder):
    """Reacts also while it keeps its picture."""

    interactive = True

    def refresh(self) -> None:
        if self.react is not None:
            self.react(self)


def make_loop(
    explainer: Explainer,
    source: Source,
    *sinks: Sink,
    controls: Controls | None = None,
    evidence: Evidence | None = None,
    **options: object,
) -> Loop:
    """A loop that shows each frame's own map in gray, so that a picture's level is the map's."""
    options.setdefault("caption", "none")
    options.setdefault("smooth", 0.0)
    return Loop(
        explainer,
        source,
        sinks,
        controls or Controls(available_views(explainer.model), "map"),
        Overlay("gray"),
        LoopOptions(**options),  # type: ignore[arg-type]
        evidence=evidence,
    )
