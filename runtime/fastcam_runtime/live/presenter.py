"""The presenter: draws results, writes the pictures to the sinks, and counts them."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2

from ..draw.renderer import Renderer
from ..errors import FastcamError
from ..explanation import Explanation, InputTensor
from ..image import Image
from ..sinks import Sink, Status
from ..sinks.atomic import write_whole
from ..sources import Frame, Source
from .controls import Choice, Controls, Look
from .evidence import Evidence
from .metrics import LoopMetrics
from .pause import Pause, State

logger = logging.getLogger(__name__)

TOP = 5
"""Number of best classes that the sinks get."""


@dataclass(frozen=True)
class Read:
    """A frame and the network's input made from it."""

    frame: Frame
    age: float
    """Milliseconds since it was captured, or since reading it from a file began."""
    tensor: InputTensor


@dataclass(frozen=True)
class Result:
    """An explained frame, and the choice that it was explained for."""

    read: Read
    explanation: Explanation
    """Holds the latest maps if none were computed for this frame."""
    choice: Choice
    again: bool
    """This is the held frame, explained again for a new choice."""
    cold: bool
    """This is the first frame that was explained for its choice."""


class Presenter:
    """Draws results and writes them to the sinks, in the thread that opened the sinks."""

    def __init__(
        self,
        source: Source,
        sinks: Sequence[Sink],
        controls: Controls,
        pause: Pause[Read],
        renderer: Renderer,
        metrics: LoopMetrics,
        evidence: Evidence | None = None,
    ) -> None:
        self._source = source
        self._controls = controls
        self._pause = pause
        self._renderer = renderer
        self._look: Look | None = None
        self._screens = [sink for sink in sinks if sink.interactive]
        self._records = [sink for sink in sinks if not sink.interactive]
        self._on_screen: tuple[Image, Status] | None = None
        self._evidence = evidence
        self.metrics = metrics
        self.last: Status | None = None
        """The status of the latest picture."""

    def show(self, result: Result) -> None:
        """Draw a result and write it; count it unless its frame was counted before."""
        started = time.perf_counter()
        explanation, frame = result.explanation, result.read.frame
        fps = None if self._source.stills else self.metrics.recent_fps
        if result.choice.look not in (None, self._look):
            self._look = result.choice.look
            self._renderer.restyle(*self._look)
        picture = self._renderer.draw(frame.image, explanation, *result.choice.subject, fps)
        drawn = time.perf_counter()
        durations = {
            "capture": result.read.age,
            **explanation.timings,
            "overlay": 1e3 * (drawn - started),
        }
        status = Status(
            frame=frame.index,
            label=explanation.label,
            score=explanation.score,
            fps=fps,
            latency=durations,
            view=result.choice.view,
            class_choice=result.choice.class_choice,
            dropped=self._source.dropped,
            name=frame.name,
            top=explanation.top(TOP),
            time=time.time() - (time.monotonic() - frame.time),
            cold=result.cold,
            explanation=explanation,
            image=frame.image,
        )
        if self._on_screen is None or result.again or self._pause.state is not State.RECORDING:
            # The next picture overwrites this one, also while the screens keep it.
            self._on_screen = (picture.copy() if self._records else picture), status
            _write(picture, status, self._screens)
        else:
            self.refresh()
        if not result.again:
            _write(picture, status, self._records)
            durations = {**durations, "sink": 1e3 * (time.perf_counter() - drawn)}
            self.last = status
            self.metrics.count(self._source)
            self.metrics.add(
                durations,
                end_to_end=1e3 * (time.monotonic() - frame.time),
                waited=result.read.age if self._source.live else 0.0,
                label=status.prediction.label if status.prediction else None,
                cold=result.cold,
            )

    def refresh(self) -> None:
        """Let the screens react to keys while they keep their picture."""
        if self._on_screen is not None:
            for screen in self._screens:
                screen.refresh()

    def save_if_asked(self) -> None:
        """Save the picture on the screens, or keep its frame as evidence, if the user requested it."""
        if self._on_screen is None:
            return
        if self._controls.take_snapshot_request():
            _save_snapshot(self._on_screen[0])
        if self._controls.take_keep_request() and self._evidence is not None:
            self._evidence.keep(*self._on_screen)


def _write(picture: Image, status: Status, sinks: Sequence[Sink]) -> None:
    for sink in sinks:
        sink.write(picture, status)


def _save_snapshot(picture: Image) -> None:
    """Save a picture as `fastcam-DATE-TIME.png` in the current folder; if that fails, log a warning."""
    moment = time.time()
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(moment))
    try:
        path = Path.cwd() / f"fastcam-{stamp}-{int(moment % 1 * 1000):03d}.png"
        write_whole(path, cv2.imencode(".png", picture)[1].tobytes())
    except (FastcamError, OSError) as error:
        logger.warning("no snapshot: %s", error)
    else:
        logger.info("snapshot: %s", path)
