"""The remaining time of an evaluation."""

from __future__ import annotations

import io
import time
from pathlib import Path

import pytest
from fastcam_export.cli.progress import Progress
from fastcam_export.cli.stages import Stages
from fastcam_export.evaluate.evaluation import EvaluationRequest


class Clock:
    """Stands for time.monotonic."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(time, "monotonic", found)
    return found


def test_the_remaining_time_is_of_all_stages(clock: Clock) -> None:
    """15 pictures at 10 s; then 4 steps of 15 pictures at a 15th of that, and 120 frames at a 200th."""
    stream = Terminal()
    request = EvaluationRequest([Path(f"{k}.jpg") for k in range(15)], video="clip.mp4")
    with Progress(stream) as progress:
        stages = Stages(progress, request)
        stages("pictures", 0, 15)
        assert "left" not in stream.getvalue()
        clock.now += 10
        stages("pictures", 1, 15)
        assert stream.getvalue().rpartition("pictures")[2].endswith("1/15 3:06 left ")  # 140 + 40 + 6 s
        clock.now += 140
        stages("shuffled weights", 0, 60)
        assert stream.getvalue().endswith("0/60 0:46 left ")
        clock.now += 60
        stages("shuffled weights", 30, 60)
        assert stream.getvalue().endswith("30/60 1:06 left ")


def test_without_a_terminal_it_is_written_once(clock: Clock) -> None:
    stream = io.StringIO()
    with Progress(stream) as progress:
        stages = Stages(progress, EvaluationRequest([Path("a.jpg")] * 3, sanity=False))
        for done in range(3):
            stages("pictures", done, 3)
            clock.now += 60
    assert stream.getvalue() == "evaluating 3 pictures\npictures … (about 2:00 left) 180.0 s\n"
