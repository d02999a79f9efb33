"""The loop with real threads: order, skipping, smoothing, and every way to end."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from fastcam_runtime import Explainer, FastcamError, SinkError, SourceError
from fastcam_runtime.draw.views import available_views
from fastcam_runtime.live import loop as live_loop
from fastcam_runtime.live.controls import Controls
from fastcam_runtime.live.loop import LoopOptions
from fastcam_runtime.live.metrics import STAGES
from fastcam_runtime.sinks import open_sink
from fastcam_runtime.sources import Frame, open_source
from support.looping import FRAME, Counting, LiveCounter, Recorder, Screen, make_loop
from support.tiny_grafts import save_graft
from support.videos import frames_of
from support.waiting import until

LEVELS = [10, 60, 110, 160, 210, 30, 80, 130]


def test_every_frame_in_order(explainer: Explainer) -> None:
    source, sink = Counting(LEVELS), Recorder()
    metrics = make_loop(explainer, source, sink).run()
    assert sink.levels == LEVELS
    assert [status.frame for status in sink.statuses] == list(range(8))
    assert metrics.frames == 8
    # The first frame is cold, and counted separately.
    assert [metrics.stages.samples[stage].count for stage in STAGES] == [7] * len(STAGES)
    assert [metrics.cold.samples[stage].count for stage in STAGES] == [1] * len(STAGES)
    assert source.closed
    assert sink.closed
    assert list(sink.statuses[-1].latency) == ["capture", "preprocess", "inference", "overlay"]


def test_capture_is_how_old_a_frame_is(explainer: Explainer) -> None:
    class Delayed(Counting):
        def read(self) -> Frame | None:
            frame = super().read()
            return frame and replace(frame, time=frame.time - 3600)

    sink = Recorder()
    metrics = make_loop(explainer, Delayed([10]), sink).run()
    age = sink.statuses[0].latency["capture"]
    assert 3.6e6 < age < metrics.cold.samples["end to end"].max


def test_every_nth_frame_has_maps_and_the_others_show_the_last(
    explainer: Explainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    explain = explainer.explain
    monkeypatch.setattr(explainer, "explain", lambda *args: asked.append(args[2]) or explain(*args))
    sink = Recorder()
    make_loop(explainer, Counting(LEVELS), sink, every=3).run()
    assert sink.levels == [10, 10, 10, 160, 160, 160, 80, 80]
    assert [bool(outputs) for outputs in asked] == [True, False, False] * 2 + [True, False]


def test_frames_between_run_a_network_without_the_branch(explainer: Explainer) -> None:
    outputs = [output.name for output in explainer.model.session([]).get_outputs()]
    assert outputs == ["logits"]


def test_smoothing(explainer: Explainer) -> None:
    sink = Recorder()
    make_loop(explainer, Counting([0, 200, 200, 200]), sink, smooth=0.5).run()
    assert sink.levels == [0, 100, 150, 175]


def test_a_limit_of_frames(explainer: Explainer) -> None:
    sink = Recorder()
    assert make_loop(explainer, Counting(LEVELS), sink, frames=3).run().frames == 3
    assert sink.levels == LEVELS[:3]


def test_stop_from_the_controls(explainer: Explainer) -> None:
    controls = Controls(("map",))
    sink = Recorder(lambda sink: controls.request_stop() if len(sink.pictures) == 3 else None)
    metrics = make_loop(explainer, Counting([50] * 10_000), sink, controls=controls).run()
    assert metrics.frames == 3
    assert sink.closed


def test_a_source_that_fails_ends_everything_cleanly(explainer: Explainer, tmp_path: Path) -> None:
    controls = Controls(("map",))
    video = open_sink(str(tmp_path / "out.mp4"), fps=25, controls=controls)
    loop = make_loop(explainer, Counting([50] * 100, fails_at=20), video, controls=controls)
    with pytest.raises(SourceError, match="the cable was pulled"):
        loop.run()
    assert len(frames_of(tmp_path / "out.mp4")) == 20


def test_a_sink_that_fails_ends_everything_cleanly(explainer: Explainer, tmp_path: Path) -> None:
    def fail(sink: Recorder) -> None:
        if len(sink.pictures) == 5:
            raise SinkError("the disk is full")

    controls = Controls(("map",))
    video = open_sink(str(tmp_path / "out.mp4"), fps=25, controls=controls)
    source = Counting([50] * 10_000)
    with pytest.raises(SinkError, match="the disk is full"):
        make_loop(explainer, source, video, Recorder(fail), controls=controls).run()
    assert source.closed
    assert len(frames_of(tmp_path / "out.mp4")) == 5


def test_an_explainer_that_fails_ends_everything_cleanly(
    explainer: Explainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = Recorder()

    def fail(*_: object) -> None:
        raise FastcamError("onnxruntime failed on a frame")

    monkeypatch.setattr(explainer, "explain", fail)
    with pytest.raises(FastcamError, match="failed on a frame"):
        make_loop(explainer, Counting([50] * 100), sink).run()
    assert sink.closed


@pytest.mark.parametrize("error", [SinkError("cannot finish"), OSError("cannot finish")])
def test_one_sink_that_cannot_be_closed_does_not_keep_the_others_open(
    explainer: Explainer, error: Exception
) -> None:
    class Stuck(Recorder):
        def close(self) -> None:
            raise error

    other = Recorder()
    with pytest.raises(type(error), match="cannot finish"):
        make_loop(explainer, Counting([50]), Stuck(), other).run()
    assert other.closed


def test_a_class_chosen_while_running(explainer: Explainer) -> None:
    controls = Controls(available_views(explainer.model), "map", check_class=explainer.class_index)

    def react(sink: Recorder) -> None:
        if len(sink.pictures) == 2:
            controls.set_class("blue")

    sink = Recorder(react)
    make_loop(explainer, Counting([80] * 12), sink, controls=controls).run()
    assert sink.statuses[0].label == "red"  # all equal: the first
    assert sink.statuses[-1].label == "blue"
    assert sink.statuses[-1].class_choice == "blue"
    with pytest.raises(FastcamError, match="no class 'teal'"):
        controls.set_class("teal")


def test_snapshot(explainer: Explainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    controls = Controls(available_views(explainer.model), "map")

    def react(sink: Recorder) -> None:
        if len(sink.pictures) == 2:
            controls.request_snapshot()

    sink = Recorder(react)
    make_loop(explainer, Counting(LEVELS), sink, controls=controls).run()
    (path,) = tmp_path.glob("fastcam-*.png")
    np.testing.assert_array_equal(cv2.imread(str(path)), sink.pictures[1])


@pytest.mark.parametrize("still_there", [True, False])
def test_a_snapshot_that_cannot_be_saved_stops_nothing(
    explainer: Explainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, still_there: bool
) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    if still_there:
        folder.write_text("a file in its place")
        monkeypatch.setattr(Path, "cwd", lambda: folder)
    controls = Controls(available_views(explainer.model), "map")
    controls.request_snapshot()
    sink = Recorder()
    make_loop(explainer, Counting(LEVELS), sink, controls=controls).run()
    assert len(sink.pictures) == len(LEVELS)


def test_the_caption_tells_label_and_score(explainer: Explainer) -> None:
    with_caption, without = Recorder(), Recorder()
    for sink, caption in ((with_caption, "inside"), (without, "none")):
        source = open_source("test://?size=320x240&frames=3")
        make_loop(explainer, source, sink, caption=caption).run()
    difference = np.abs(with_caption.pictures[-1].astype(int) - without.pictures[-1]).max(-1)
    rows = np.nonzero(difference.any(axis=1))[0]
    assert rows.min() > 200


@pytest.mark.parametrize(("rate", "told"), [(None, False), (200.0, True)])
def test_photos_have_no_rate_and_time_unless_a_rate_was_asked_for(
    explainer: Explainer, tmp_path: Path, rate: float | None, told: bool
) -> None:
    for number in range(4):
        cv2.imwrite(str(tmp_path / f"{number}.png"), np.zeros((480, 640, 3), np.uint8))
    sink = Recorder()
    make_loop(explainer, open_source(str(tmp_path), fps=rate, paced=True), sink, caption="below").run()
    assert [status.fps is not None for status in sink.statuses] == [False, False, told, told]
    # Rate and time are at the right end of the bar.
    columns = np.nonzero((sink.pictures[-1][-20:] > 150).any(axis=(0, 2)))[0]
    assert bool((columns > 320).any()) == told


@pytest.mark.parametrize("options", [{"every": 0}, {"frames": 0}, {"frames": -3}])
def test_impossible_options(options: dict[str, int]) -> None:
    with pytest.raises(FastcamError, match="at least 1"):
        LoopOptions(**options)


def test_networks_of_views_that_were_left_are_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while a pause holds a frame, where no other one is explained."""
    monkeypatch.setattr(live_loop, "_IDLE_SECONDS", 0.05)
    explainer = Explainer(
        save_graft(tmp_path / "graft.onnx", size=FRAME), threads=1, outputs=["saliency_map"]
    )
    views = available_views(explainer.model)
    controls = Controls(views)
    screen = Screen()
    loop = make_loop(explainer, LiveCounter(), screen, controls=controls)
    thread = threading.Thread(target=loop.run)
    thread.start()
    try:
        for paused in (False, True):
            until(lambda: screen.statuses)
            controls.set_paused(paused)
            for view in views:
                controls.set_view(view)
                until(lambda view=view: screen.statuses[-1].view == view)
            until(lambda: len(explainer.model._sessions) == 1, "sessions are left")
    finally:
        controls.request_stop()
        thread.join(20)
