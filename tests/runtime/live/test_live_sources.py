"""The loop on a live source: the displayed picture is as new as possible."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from fastcam_runtime import Explainer
from fastcam_runtime.draw.views import available_views
from fastcam_runtime.live.backpressure import ReadDelay
from fastcam_runtime.live.controls import Controls
from fastcam_runtime.sinks import Status
from support.looping import LiveCounter, Recorder, Screen, make_loop


class Slow(Recorder):
    """So slow that the network could explain the next frame meanwhile, and start others."""

    pictures_slow = 7

    def __init__(self, explainer: Explainer, source: LiveCounter, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.source = source
        self.explained = 0
        self.began = threading.Condition()
        self.done_at: list[int] = []
        explain = explainer.explain

        def counted(*args: object) -> object:
            with self.began:
                self.explained += 1
                self.began.notify_all()
            return explain(*args)  # type: ignore[arg-type]

        monkeypatch.setattr(explainer, "explain", counted)

    def write(self, picture: np.ndarray, status: Status) -> None:
        if len(self.pictures) < self.pictures_slow:
            ahead = len(self.pictures) + 2
            with self.began:
                assert self.began.wait_for(lambda: self.explained >= ahead, 20), "the network waits"
            time.sleep(0.05)
        super().write(picture, status)
        self.done_at.append(self.source.now())


def test_a_live_source_is_shown_as_it_is_now(explainer: Explainer, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a slow sink the network waits before it reads the next frame: no frame is explained in vain, and
    none is read before the sink has finished all but the last picture."""
    source = LiveCounter()
    sink = Slow(explainer, source, monkeypatch)
    metrics = make_loop(explainer, source, sink, frames=10).run()
    frames = [status.frame for status in sink.statuses]
    assert len(frames) == metrics.frames == sink.explained == 10
    assert all(frame >= done for frame, done in zip(frames[2:], sink.done_at, strict=False))


def test_the_network_rests_before_it_reads(explainer: Explainer, monkeypatch: pytest.MonkeyPatch) -> None:
    def learn(rest: ReadDelay, _: float) -> None:
        rest.seconds = 0.1

    monkeypatch.setattr(ReadDelay, "learn", learn)
    sink = Recorder()
    make_loop(explainer, LiveCounter(), sink, frames=4).run()
    frames = [status.frame for status in sink.statuses]
    assert min(np.diff(frames)) >= 0.1 * LiveCounter.RATE - 1


def test_stop_behind_a_sink_that_is_busy(explainer: Explainer, monkeypatch: pytest.MonkeyPatch) -> None:
    source, controls = LiveCounter(), Controls(("map",))
    sink = Slow(explainer, source, monkeypatch)
    sink.react = lambda sink: controls.request_stop() if len(sink.pictures) == 3 else None
    assert make_loop(explainer, source, sink, controls=controls).run().frames == 3
    assert sink.explained == 4


def test_paused_behind_a_sink_that_is_busy(explainer: Explainer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last explained frame stays; its view can be changed."""
    source, controls = LiveCounter(), Controls(available_views(explainer.model), "map")

    class SlowScreen(Slow, Screen):
        pictures_slow = 3

    def react(screen: Recorder) -> None:
        status = screen.statuses[-1]
        if len(screen.pictures) == 3:
            controls.set_paused(True)
        if controls.paused and status.frame != screen.statuses[2].frame:
            controls.set_view("side")
        if status.view == "side":
            controls.request_stop()

    screen = SlowScreen(explainer, source, monkeypatch)
    screen.react = react
    make_loop(explainer, source, screen, controls=controls).run()
    frames = [status.frame for status in screen.statuses]
    assert len(dict.fromkeys(frames)) == 4
    assert frames[-1] == frames[3]
    assert screen.pictures[-1].shape == (32, 96, 3)
