"""The loop with real threads: order, skipping, smoothing, pausing, and every way to end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from fastcam_runtime import Explainer, FastcamError, Overlay, SinkError, SourceError
from fastcam_runtime.caption import Lettering
from fastcam_runtime.controls import Controls
from fastcam_runtime.loop import Loop, LoopOptions
from fastcam_runtime.resting import Rest
from fastcam_runtime.sinks import Sink, Status, open_sink
from fastcam_runtime.sources import Frame, Source, open_source
from fastcam_runtime.tally import STAGES
from fastcam_runtime.views import available_views
from tiny_grafts import save_graft

FRAME = (32, 48)


class Counting(Source):
    """Frames of one gray level each: frame i has the level `levels[i]`; goes wrong at frame `fails_at`."""

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
    interactive = True


@pytest.fixture(scope="module")
def explainer(tmp_path_factory: pytest.TempPathFactory) -> Explainer:
    path = save_graft(tmp_path_factory.mktemp("loop") / "graft.onnx", size=FRAME)
    return Explainer(path, threads=1, outputs=["saliency_map"])


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    left = [thread.name for thread in threading.enumerate() if thread not in before]
    assert not [name for name in left if name.startswith("fastcam")]


def make_loop(
    explainer: Explainer, source: Source, *sinks: Sink, controls: Controls | None = None, **options: object
) -> Loop:
    """A loop that shows the map in gray, so that a picture's level is the map's."""
    options.setdefault("caption", False)
    return Loop(
        explainer,
        source,
        sinks,
        controls or Controls(available_views(explainer.model), "map"),
        Overlay("gray"),
        LoopOptions(**options),  # type: ignore[arg-type]
    )


LEVELS = [10, 60, 110, 160, 210, 30, 80, 130]


def test_every_frame_in_order(explainer: Explainer) -> None:
    source, sink = Counting(LEVELS), Recorder()
    tally = make_loop(explainer, source, sink).run()
    assert sink.levels == LEVELS
    assert [status.frame for status in sink.statuses] == list(range(8))
    assert tally.frames == 8
    assert [tally.stages.samples[stage].count for stage in STAGES] == [8] * len(STAGES)
    assert source.closed
    assert sink.closed
    assert list(sink.statuses[-1].latency) == ["capture", "preprocess", "inference", "overlay"]


def test_capture_is_how_old_a_frame_is(explainer: Explainer) -> None:
    class Delayed(Counting):
        def read(self) -> Frame | None:
            frame = super().read()
            return frame and replace(frame, time=frame.time - 3600)

    sink = Recorder()
    tally = make_loop(explainer, Delayed([10]), sink).run()
    age = sink.statuses[0].latency["capture"]
    assert 3.6e6 < age < tally.stages.samples["end to end"].max


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


class Slow(Recorder):
    """Takes so long for a picture that the network can explain the next frame meanwhile, and begin others."""

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
    """Behind a slow sink the network waits before it reads the next frame: none is explained for nothing, and
    none is read before the sink has finished all but the last picture."""
    source = LiveCounter()
    sink = Slow(explainer, source, monkeypatch)
    tally = make_loop(explainer, source, sink, frames=10).run()
    frames = [status.frame for status in sink.statuses]
    assert len(frames) == tally.frames == sink.explained == 10
    assert all(frame >= done for frame, done in zip(frames[2:], sink.done_at, strict=False))


def test_the_network_rests_before_it_reads(explainer: Explainer, monkeypatch: pytest.MonkeyPatch) -> None:
    def learn(rest: Rest, _: float) -> None:
        rest.seconds = 0.1

    monkeypatch.setattr(Rest, "learn", learn)
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
    """The frame that was explained by then is the last one; its view can be changed."""
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


def test_what_a_camera_sees_during_a_pause_is_recorded(explainer: Explainer) -> None:
    controls = Controls(available_views(explainer.model), "map")
    recorder = Recorder()
    while_paused: list[tuple[int, str]] = []

    def react(screen: Recorder) -> None:
        status, recorded = screen.statuses[-1], len(recorder.pictures)
        if controls.paused:
            while_paused.append((status.frame, status.view))
            if recorded == 10:
                controls.set_view("side")
            if recorded > 20 and status.view == "side":
                controls.set_paused(False)
        elif recorded == 3:
            controls.set_paused(True)
        elif recorded > 25:
            controls.request_stop()

    screen = Screen(react)
    make_loop(explainer, LiveCounter(), screen, recorder, controls=controls).run()
    frames = [status.frame for status in recorder.statuses]
    assert frames == sorted(set(frames))  # each of them once
    held = dict.fromkeys(frame for frame, _ in while_paused)
    assert len(held) <= 2  # when the view is changed, the screen may be one frame behind the network
    assert {view for _, view in while_paused} == {"map", "side"}
    assert screen.statuses[-1].frame == frames[-1]


def test_stop_from_the_controls(explainer: Explainer) -> None:
    controls = Controls(("map",))
    sink = Recorder(lambda sink: controls.request_stop() if len(sink.pictures) == 3 else None)
    tally = make_loop(explainer, Counting([50] * 10_000), sink, controls=controls).run()
    assert tally.frames == 3
    assert sink.closed


def test_a_source_that_fails_ends_everything_cleanly(explainer: Explainer, tmp_path: Path) -> None:
    controls = Controls(("map",))
    video = open_sink(str(tmp_path / "out.mp4"), fps=25, controls=controls)
    loop = make_loop(explainer, Counting([50] * 100, fails_at=20), video, controls=controls)
    with pytest.raises(SourceError, match="the cable was pulled"):
        loop.run()
    assert count_frames(tmp_path / "out.mp4") == 20


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
    assert count_frames(tmp_path / "out.mp4") == 5


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


def test_one_sink_that_cannot_be_closed_does_not_keep_the_others_open(explainer: Explainer) -> None:
    class Stuck(Recorder):
        def close(self) -> None:
            raise SinkError("cannot finish")

    other = Recorder()
    with pytest.raises(SinkError, match="cannot finish"):
        make_loop(explainer, Counting([50]), Stuck(), other).run()
    assert other.closed


def test_paused_the_view_can_be_changed_and_nothing_is_recorded_twice(explainer: Explainer) -> None:
    controls = Controls(available_views(explainer.model), "map")
    views_while_paused = []

    def react(screen: Recorder) -> None:
        if len(screen.pictures) == 3:
            controls.set_paused(True)
        if controls.paused:
            views_while_paused.append(screen.statuses[-1].view)
            if len(views_while_paused) == 3:
                controls.set_view("side")
            if views_while_paused.count("side") == 2:
                controls.set_paused(False)

    screen, recorder = Screen(react), Recorder()
    make_loop(explainer, Counting(LEVELS), recorder, screen, controls=controls).run()
    # the explaining thread may be two frames ahead of the screen when it learns of the pause
    assert [status.frame for status in recorder.statuses] == list(range(8))
    assert len(screen.pictures) > len(recorder.pictures)
    assert screen.pictures[-1].shape == (32, 96, 3)


def test_a_view_changed_and_changed_back_at_the_end_of_a_pause(
    explainer: Explainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The frames after the pause do not show the map of the view in between."""
    controls = Controls(available_views(explainer.model), "map")
    controls.set_paused(True)
    computed: list[object] = []
    explain = explainer.explain

    def explain_while_the_view_is_changed_back(*args: object) -> object:
        computed.extend(args[2])  # type: ignore[call-overload]
        if args[2] == ["lovi"]:
            controls.set_view("map")
            controls.set_paused(False)
        return explain(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(explainer, "explain", explain_while_the_view_is_changed_back)
    screen = Screen(lambda screen: controls.set_view("lovi") if len(screen.pictures) == 1 else None)
    make_loop(explainer, Counting([80] * 6), screen, controls=controls, every=100).run()
    assert computed == ["saliency_map", "lovi", "saliency_map"]
    assert screen.levels[-1] == 80


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
    for sink, caption in ((with_caption, True), (without, False)):
        source = open_source("test://?size=320x240&frames=3")
        make_loop(explainer, source, sink, caption=caption).run()
    difference = np.abs(with_caption.pictures[-1].astype(int) - without.pictures[-1]).max(-1)
    rows = np.nonzero(difference.any(axis=1))[0]
    assert rows.min() > 200


@pytest.mark.parametrize(("rate", "told"), [(None, False), (200.0, True)])
def test_photos_have_no_rate_unless_one_was_asked_for(
    explainer: Explainer, tmp_path: Path, rate: float | None, told: bool
) -> None:
    for number in range(4):
        cv2.imwrite(str(tmp_path / f"{number}.png"), np.zeros((480, 640, 3), np.uint8))
    sink = Recorder()
    make_loop(explainer, open_source(str(tmp_path), fps=rate, paced=True), sink, caption=True).run()
    assert [status.fps is not None for status in sink.statuses] == [False, False, told, told]
    # The figures stand at the right end of the bar; milliseconds alone need only so much room.
    letters = Lettering.for_picture(*sink.pictures[-1].shape[:2])
    columns = np.nonzero((sink.pictures[-1][-20:] > 150).any(axis=(0, 2)))[0]
    figures = columns[columns > 320]
    assert figures.size
    assert (figures.min() < 640 - letters.height - letters.width("9999.9 ms")) == told


@pytest.mark.parametrize("options", [{"every": 0}, {"frames": 0}, {"frames": -3}])
def test_impossible_options(options: dict[str, int]) -> None:
    with pytest.raises(FastcamError, match="at least 1"):
        LoopOptions(**options)


def count_frames(path: Path) -> int:
    video = cv2.VideoCapture(str(path))
    count = 0
    while video.read()[0]:
        count += 1
    video.release()
    return count
