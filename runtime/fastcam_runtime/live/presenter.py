"""Results become pictures in the sinks: drawn, written, counted, and held while a person has paused."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2

from ..draw.renderer import Drawing
from ..errors import FastcamError
from ..explainer import Explainer
from ..explanation import Explanation, Prepared
from ..image import Image
from ..sinks import Sink, Status
from ..sinks.atomic import write_whole
from ..sources import Frame, Source
from .controls import Controls
from .metrics import LoopMetrics

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Read:
    """A frame as it goes to the network."""

    frame: Frame
    age: float
    """Milliseconds since it was captured, or began to be read."""
    prepared: Prepared


@dataclass(frozen=True)
class Result:
    """An explained frame, and the choices that it was explained for."""

    read: Read
    explanation: Explanation
    """With the last maps where none were computed for this frame."""
    view: str
    class_choice: str | None
    again: bool
    """The held frame once more, because a choice was changed."""


class Presenter:
    """Draws results and writes them to the sinks, in the thread of these.

    Args:
        explainer: For what the network said beside the class explained.
        source: Where the frames come from.
        sinks: Where pictures go.
        controls: Pause and snapshot.
        drawing: Makes the pictures.
    """

    def __init__(
        self,
        explainer: Explainer,
        source: Source,
        sinks: Sequence[Sink],
        controls: Controls,
        drawing: Drawing,
    ) -> None:
        self._explainer = explainer
        self._source = source
        self._controls = controls
        self._drawing = drawing
        self._screens = [sink for sink in sinks if sink.interactive]
        self._records = [sink for sink in sinks if not sink.interactive]
        self._held: tuple[Image, Status] | None = None
        """The picture on the screens."""
        self.metrics = LoopMetrics()

    @property
    def records_on(self) -> bool:
        """Whether a pause holds the screens only: what a camera sees meanwhile would be lost to a record."""
        return self._source.live and bool(self._records)

    def show(self, result: Result) -> None:
        """Draw a result and write it, and count it unless it was shown before."""
        started = time.perf_counter()
        explanation, frame = result.explanation, result.read.frame
        fps = None if self._source.stills else self.metrics.recent_fps
        picture = self._drawing.draw(frame.image, explanation, result.view, result.class_choice, fps)
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
            view=result.view,
            class_choice=result.class_choice,
            dropped=self._source.dropped,
            name=frame.name,
            prediction=self._explainer.prediction(explanation),
        )
        if self._held is None or result.again or not (self._controls.paused and self.records_on):
            self._held = picture, status
        self.repeat()
        if not result.again:
            _write(picture, status, self._records)
            durations = {**durations, "sink": 1e3 * (time.perf_counter() - drawn)}
            durations["end to end"] = 1e3 * (time.monotonic() - frame.time)
            self.metrics.add(durations, status)

    def repeat(self) -> None:
        """Give the screens their picture again, so that they react to keys."""
        if self._held is not None:
            _write(*self._held, self._screens)

    def save_if_asked(self) -> None:
        """Save the picture on the screens where a snapshot was asked for."""
        if self._held is not None and self._controls.take_snapshot_request():
            save_snapshot(self._held[0])


def _write(picture: Image, status: Status, sinks: Sequence[Sink]) -> None:
    for sink in sinks:
        sink.write(picture, status)


def save_snapshot(picture: Image, folder: Path | None = None) -> Path | None:
    """Save a picture as `fastcam-DATE-TIME.png` in `folder` (the current one by default).

    A snapshot that cannot be saved is reported to the log and stops nothing; None is returned.
    """
    moment = time.time()
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(moment))
    path = (folder or Path()) / f"fastcam-{stamp}-{int(moment % 1 * 1000):03d}.png"
    try:
        path = Path.cwd() / path
        write_whole(path, cv2.imencode(".png", picture)[1].tobytes())
    except (FastcamError, OSError) as error:
        logger.warning("no snapshot: %s", error)
        return None
    logger.info("snapshot: %s", path)
    return path
