"""A live recording lasts as long as what it shows."""

from __future__ import annotations

import numpy as np
import pytest
from fastcam_runtime.realtime import RealTime
from fastcam_runtime.sinks import Sink, Status


class Tape(Sink):
    def __init__(self) -> None:
        self.frames: list[int] = []
        self.closed = False

    def write(self, picture: np.ndarray, status: Status) -> None:
        self.frames.append(status.frame)

    def close(self) -> None:
        self.closed = True


def record(times: list[float], fps: float = 30) -> list[int]:
    """The frames on the tape when picture i comes at `times[i]`."""
    tape = Tape()
    sink = RealTime(tape, fps, clock=iter(times).__next__)
    for i in range(len(times)):
        sink.write(np.zeros((2, 2, 3), np.uint8), Status(frame=i))
    sink.close()
    assert tape.closed
    return tape.frames


@pytest.mark.parametrize("rate", [5, 12, 29.97, 30, 31, 100])
def test_ten_seconds_are_ten_seconds_long(rate: float) -> None:
    frames = record([7 + i / rate for i in range(int(10 * rate))])
    assert abs(len(frames) / 30 - 10) < 1 / rate + 2 / 30
    assert frames == sorted(frames)


def test_at_the_declared_rate_every_picture_is_there_once() -> None:
    rng = np.random.default_rng(0)
    jitter = rng.uniform(0, 0.01, 90)
    frames = record([1.001 + i / 30 + jitter[i] for i in range(90)])
    assert len(frames) in (90, 91)


def test_a_pause_is_not_recorded() -> None:
    frames = record([0, 0.1, 3600.0, 3600.1])
    assert len(frames) <= 30 * (0.1 + 2 + 0.1) + 1
    assert set(frames) == {0, 1, 2, 3}
