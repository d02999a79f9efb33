"""The clip with the map over it as a video, and the labels of its frames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fastcam_runtime import Explainer, Overlay
from fastcam_runtime.draw.overlay import STEADY
from fastcam_runtime.image import Image
from fastcam_runtime.live.controls import Controls
from fastcam_runtime.live.loop import Loop
from fastcam_runtime.sinks import Sink, Status
from fastcam_runtime.sinks.video import VideoFile
from fastcam_runtime.sources.test_clip import DEFAULT_FPS, TestClip
from fastcam_runtime.text import format_table


@dataclass(frozen=True)
class LabelRun:
    """A label, and the run of frames that had it."""

    label: str
    first: int
    last: int
    lowest: float
    highest: float
    """Lowest and highest probability in the run, 0…1."""


class Witness(Sink):
    """A sink that records the label of each picture and shows none; `seen` gets their number so far."""

    def __init__(self, seen: Callable[[int], None]) -> None:
        self.labels: list[LabelRun] = []
        self._count = 0
        self._seen = seen

    def write(self, picture: Image, status: Status) -> None:
        label, index, score = status.label, status.frame, status.score or 0.0
        before = self.labels[-1] if self.labels else None
        if before is not None and before.label == label:
            low, high = min(before.lowest, score), max(before.highest, score)
            self.labels[-1] = LabelRun(label, before.first, index, low, high)
        else:
            self.labels.append(LabelRun(label, index, index, score, score))
        self._count += 1
        self._seen(self._count)


def record(
    explainer: Explainer, clip: TestClip, video: Path, progress: Callable[[int], None]
) -> list[LabelRun]:
    """Play the clip to its end through the loop that `fastcam run` uses, into a video; returns its labels.

    `progress` is called after each frame with the number of frames so far.
    """
    witness = Witness(progress)
    sinks = [VideoFile(video, clip.fps or DEFAULT_FPS), witness]
    Loop(explainer, clip, sinks, Controls(("overlay",)), Overlay(steady=STEADY)).run()
    return witness.labels


def format_labels(seen: list[LabelRun]) -> str:
    """The table of labels, with their frames and probabilities."""
    rows = [
        [s.label, _span(f"{s.first}", f"{s.last}"), _span(f"{s.lowest:.0%}", f"{s.highest:.0%}")]
        for s in seen
    ]
    return format_table(["label", "frames", "score"], rows)


def _span(first: str, last: str) -> str:
    return first if first == last else f"{first} … {last}"
