"""Only the newest frame of a scripted camera."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from fastcam_runtime.errors import SourceError
from fastcam_runtime.sources import SourceOptions
from fastcam_runtime.sources.live_source import LiveSource
from support.waiting import until


class Scripted:
    """A scripted camera with numbered pictures."""

    fps = 30.0

    def __init__(self, pictures: int) -> None:
        self._left = pictures
        self.step = threading.Semaphore(0)
        self.released = threading.Event()

    def lose(self) -> None:
        """No more pictures: every read fails at once."""
        self._left = 0
        self.step.release(100)

    def grab(self) -> np.ndarray | None:
        self.step.acquire()
        self._left -= 1
        return np.zeros((4, 6, 3), np.uint8) if self._left >= 0 else None

    def release(self) -> None:
        self.released.set()


def test_only_the_newest_frame_is_kept_and_the_others_counted() -> None:
    camera = Scripted(10)
    source = LiveSource("camera", lambda: camera, SourceOptions())
    for _ in range(5):
        camera.step.release()
    until(lambda: source.dropped == 4)
    frame = source.read()
    assert frame is not None
    assert frame.index == 4
    camera.step.release()
    frame = source.read()
    assert frame is not None
    assert (frame.index, source.dropped) == (5, 4)
    camera.step.release()
    source.close()
    assert camera.released.is_set()
    assert source.read() is None


def test_tries_to_find_a_lost_camera_grow_rare(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    first, again = Scripted(1), Scripted(1)
    answers: list[Any] = [first, *[SourceError("not there")] * 9, again]

    def connect() -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    source = LiveSource("camera", connect, SourceOptions())

    def wait(seconds: float) -> bool:
        if seconds > 0.1:  # not the pauses between failed reads
            waits.append(seconds)
        return False

    monkeypatch.setattr(source._reader._ending, "wait", wait)
    for camera in (first, again):
        camera.step.release()
    assert source.read() is not None
    first.lose()
    frame = source.read()
    assert frame is not None
    assert frame.index == 1
    assert source.reconnects == 1
    steps = np.array([1, 2, 5, 10, 30, 60, 60, 60, 60, 60])
    assert np.abs(np.array(waits) / steps - 1).max() <= 0.2
    assert (
        len({wait / step for wait, step in zip(waits, steps, strict=True)}) > 5
    )  # not all at the same moment
    source._reader._ending.set()
    again.lose()
    source.close()


def test_a_lost_camera_that_complains_when_let_go_is_opened_again() -> None:
    class Broken(Scripted):
        def release(self) -> None:
            raise RuntimeError("the bus is gone")

    first, again = Broken(0), Scripted(1)  # the first one is lost at once
    cameras = iter((first, again))
    with LiveSource("camera", lambda: next(cameras), SourceOptions(), steps=(0.01,)) as source:
        first.lose()
        again.step.release()
        assert source.read() is not None
        assert source.reconnects == 1
        again.lose()


def test_a_camera_that_hangs_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both the loop and the opener close the source."""
    camera = Scripted(1)
    source = LiveSource("camera", lambda: camera, SourceOptions())
    waits: list[float] = []
    monkeypatch.setattr(source._reader, "join", waits.append)
    source.close()
    source.close()
    assert len(waits) == 1
    camera.step.release()


def test_failure_of_the_reader_thread_reaches_the_reader() -> None:
    camera = Scripted(1)
    camera.grab = lambda: np.zeros((0, 0, 3), np.uint8)  # type: ignore[method-assign]
    source = LiveSource("camera", lambda: camera, SourceOptions(size=(8, 8)))
    with pytest.raises(SourceError, match="camera: cannot continue"):
        source.read()
    source.close()


def test_a_camera_that_hangs_is_opened_anew(caplog: pytest.LogCaptureFixture) -> None:
    """Its thread is abandoned; frames that it reads later are not shown, and the camera is released."""
    stuck, again = Scripted(9), Scripted(1)
    cameras = iter((stuck, again))
    with LiveSource("camera", lambda: next(cameras), SourceOptions(), (0.01,), patience=0.1) as source:
        again.step.release()
        assert source.read() is not None
        assert source.reconnects == 1
        assert "camera: no answer for 0 s; reopening it" in caplog.text
        stuck.step.release()
        assert stuck.released.wait(20)
        assert source._newest is None
        again.lose()


@pytest.mark.slow
def test_threads_that_hang_do_not_pile_up() -> None:
    cameras: list[Scripted] = []

    def connect() -> Scripted:
        cameras.append(Scripted(1))
        return cameras[-1]

    source = LiveSource("camera", connect, SourceOptions(), (0.01,), patience=0.05)
    reader = threading.Thread(target=source.read)
    reader.start()
    until(lambda: len(cameras) == 3)
    assert not until_or_none(lambda: len(cameras) > 3, 0.5)
    for camera in cameras:
        camera.step.release()
    reader.join(20)
    assert not reader.is_alive()
    source._reader.end()
    for camera in cameras:
        camera.lose()
    source.close()
    until(lambda: all(camera.released.is_set() for camera in cameras))


def until_or_none(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether `condition` becomes true before a timeout."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return False
