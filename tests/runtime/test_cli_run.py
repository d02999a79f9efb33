"""`fastcam run` as a user starts it: real files, real processes, real signals."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import cv2
import numpy as np
import pytest
from fastcam_runtime.cli import main
from fastcam_runtime.scores import Prediction
from fastcam_runtime.sinks import Status, predictions
from shared_data import shared
from tiny_grafts import save_graft


@pytest.fixture(scope="module")
def graft(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_graft(tmp_path_factory.mktemp("run") / "graft.onnx", size=(64, 96))


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real video of 30 frames: a white square wanders over a dark ground."""
    path = tmp_path_factory.mktemp("clip") / "clip.mp4"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"mp4v"), 12.5, (160, 120))
    assert writer.isOpened()
    for i in range(30):
        frame = np.full((120, 160, 3), 30, np.uint8)
        frame[40:80, 4 * i : 4 * i + 40] = 255
        writer.write(frame)
    writer.release()
    return path


def read_video(path: Path) -> tuple[list[np.ndarray], float]:
    video = cv2.VideoCapture(str(path))
    fps = video.get(cv2.CAP_PROP_FPS)
    frames = []
    while True:
        found, frame = video.read()
        if not found:
            video.release()
            return frames, fps
        frames.append(frame)


def start(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "fastcam_runtime.cli", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def test_video_in_video_out(
    graft: Path, clip: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, figures = tmp_path / "out.mp4", tmp_path / "figures.json"
    arguments = [
        "--view",
        "map",
        "--colormap",
        "gray",
        "--no-caption",
        "--threads",
        "1",
        "--json",
        str(figures),
    ]
    assert main(["run", str(graft), str(clip), str(out), *arguments]) == 0
    frames, fps = read_video(out)
    assert len(frames) == 30
    assert fps == pytest.approx(12.5)
    for i, frame in enumerate(frames):
        columns = np.nonzero(frame[60, :, 0] > 140)[0]
        assert abs(columns.min() - 4 * i) <= 4
        assert abs(columns.max() - (4 * i + 39)) <= 4
    report = json.loads(figures.read_text())
    assert (report["frames"], report["dropped"], report["skipped"]) == (30, 0, 0)
    assert set(report["latency_ms"]) >= {"capture", "preprocess", "inference", "overlay", "sink"}
    assert all({"p50", "p90", "p99", "max"} <= set(stage) for stage in report["latency_ms"].values())
    assert report["rss_start_bytes"] > 10_000_000
    assert report["rss_end_bytes"] > 10_000_000
    printed = capsys.readouterr().out
    assert "30 frames" in printed
    assert "p99" in printed


def test_a_real_clip(graft: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.mp4"
    clip = shared("video/bottles.mp4")
    assert main(["run", str(graft), str(clip), str(out), "--frames", "20", "--size", "320x180"]) == 0
    frames, _ = read_video(out)
    assert len(frames) == 20
    assert frames[0].shape == (180, 320, 3)


def test_several_outputs_and_a_photo(graft: Path, tmp_path: Path) -> None:
    photo, one, folder = tmp_path / "photo.png", tmp_path / "one.png", tmp_path / "many"
    cv2.imwrite(str(photo), np.full((50, 70, 3), (0, 200, 0), np.uint8))
    assert main(["run", str(graft), str(photo), str(one), f"{folder}/", "null://", "--class", "blu"]) == 0
    assert cv2.imread(str(one)).shape == (50, 70, 3)
    assert [path.name for path in folder.iterdir()] == ["photo.jpg"]


def test_pictures_keep_their_names_in_a_folder(graft: Path, tmp_path: Path, clip: Path) -> None:
    for name in ("one/cat.png", "one/dog.bmp", "one/Cup of tea.jpg", "two/cat.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        cv2.imwrite(str(tmp_path / name), np.full((40, 60, 3), 90, np.uint8))
    (tmp_path / "one" / "broken.png").write_bytes(b"not a picture")

    def written(source: object, output: str) -> list[str]:
        out = tmp_path / "out"
        assert main(["run", str(graft), str(source), f"{out}/{output}", "--frames", "9"]) == 0
        names = sorted(path.name for path in out.iterdir())
        shutil.rmtree(out)
        return names

    assert written(tmp_path / "one", "") == ["Cup of tea.jpg", "cat.jpg", "dog.jpg"]
    assert written(tmp_path / "*" / "cat.png", "") == ["cat-1.jpg", "cat.jpg"]
    assert written(tmp_path / "one", "%02d.png") == ["00.png", "01.png", "02.png"]
    assert written(clip, "") == [f"{number:06d}.jpg" for number in range(9)]


def test_a_report_tells_the_class_of_every_picture(graft: Path, tmp_path: Path, clip: Path) -> None:
    colours = {"a/cup.png": (255, 0, 0), "a/cup.bmp": (0, 0, 255), "b/cup.png": (0, 255, 0)}
    for name, colour in colours.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        cv2.imwrite(str(tmp_path / name), np.full((48, 64, 3), colour, np.uint8))
    figures = tmp_path / "figures.json"

    def told(source: object, *options: str, model: Path = graft) -> list[dict[str, object]]:
        report = ["--json", str(figures), "--threads", "1"]
        assert main(["run", str(model), str(source), "null://", *report, *options]) == 0
        return json.loads(figures.read_text())["predictions"]  # type: ignore[no-any-return]

    photos = told(tmp_path / "[ab]" / "*")
    assert all(photo["score"] > 0.99 for photo in photos)  # type: ignore[operator]
    assert [[photo[key] for key in ("frame", "file", "class", "label")] for photo in photos] == [
        [0, f"{tmp_path}/a/cup.bmp", 0, "red"],
        [1, f"{tmp_path}/a/cup.png", 2, "blue"],
        [2, f"{tmp_path}/b/cup.png", 1, "green"],
    ]
    # Whatever is explained.
    with_classes = save_graft(tmp_path / "classes.onnx", outputs=("saliency_map", "cam"))
    chosen = told(tmp_path / "[ab]" / "*", "--class", "red", model=with_classes)
    assert [photo["label"] for photo in chosen] == ["red", "blue", "green"]
    video = told(clip, "--fps", "5", "--frames", "4")
    assert [set(frame) for frame in video] == [{"frame", "class", "label", "score"}] * 4
    assert [frame["frame"] for frame in video] == [0, 3, 5, 8]  # of the file


def test_a_photo_is_not_drawn_with_the_map_of_another(graft: Path, tmp_path: Path) -> None:
    """`--every` and `--smooth` are about frames that follow each other."""
    (tmp_path / "photos").mkdir()
    for i in range(3):
        photo = np.zeros((48, 64, 3), np.uint8)
        photo[:, 20 * i : 20 * i + 20] = 255
        cv2.imwrite(str(tmp_path / "photos" / f"{i}.png"), photo)
    for name, options in (("plain", []), ("other", ["--every", "2", "--smooth", "0.9"])):
        output = f"{tmp_path / name}/%d.png"
        drawn = ["run", str(graft), str(tmp_path / "photos"), output, "--no-caption", "--threads", "1"]
        assert main([*drawn, *options]) == 0
    for i in range(3):
        plain, other = (cv2.imread(str(tmp_path / name / f"{i}.png")) for name in ("plain", "other"))
        np.testing.assert_array_equal(other, plain)


def test_a_report_remembers_the_last_pictures_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predictions, "LIMIT", 3)
    sink = predictions.Predictions()
    nothing = Prediction(0, "red", float("nan"))
    for number in range(5):
        sink.write(np.zeros((4, 4, 3), np.uint8), Status(number, prediction=nothing))
    sink.write(np.zeros((4, 4, 3), np.uint8), Status(5))  # tells no class
    assert [told["frame"] for told in sink.as_list()] == [2, 3, 4]
    assert sink.as_list()[0]["score"] is None


def test_a_picture_is_not_replaced_by_what_is_drawn_on_it(
    graft: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    photo = tmp_path / "photo.jpg"
    cv2.imwrite(str(photo), np.full((50, 70, 3), 90, np.uint8))
    before = photo.read_bytes()
    assert main(["run", str(graft), str(photo), f"{tmp_path}/"]) == 2
    assert "holds what is read in this run; name another output" in capsys.readouterr().err
    assert photo.read_bytes() == before
    assert list(tmp_path.iterdir()) == [photo]


def test_every_and_smooth(graft: Path, clip: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.avi"
    assert main(["run", str(graft), str(clip), str(out), "--every", "4", "--smooth", "0.5"]) == 0
    assert len(read_video(out)[0]) == 30


def test_a_recording_at_a_lower_rate_plays_as_fast(graft: Path, clip: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.avi"
    assert main(["run", str(graft), str(clip), str(out), "--fps", "5", "--threads", "1"]) == 0
    frames, fps = read_video(out)
    assert (len(frames), fps) == (12, 5)  # 30 at 12.5 a second are 2.4 seconds


@pytest.mark.parametrize(("options", "rate"), [([], 1), (["--fps", "4"], 4)])
def test_photos_are_recorded_to_be_looked_at(
    graft: Path, tmp_path: Path, options: list[str], rate: int
) -> None:
    (tmp_path / "in").mkdir()
    for number in range(3):
        cv2.imwrite(str(tmp_path / "in" / f"{number}.png"), np.full((48, 64, 3), 80 * number, np.uint8))
    out = tmp_path / "out.mp4"
    assert main(["run", str(graft), str(tmp_path / "in"), str(out), "--threads", "1", *options]) == 0
    frames, fps = read_video(out)
    assert (len(frames), fps) == (3, rate)


def test_pictures_of_different_sizes(graft: Path, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    sizes = [(40, 60), (70, 30), (40, 60), (33, 47)]
    for i, (height, width) in enumerate(sizes):
        picture = np.full((height, width, 3), 60 * i, np.uint8)
        cv2.imwrite(str(tmp_path / "in" / f"{i}.png"), picture)
    out = tmp_path / "out"
    assert main(["run", str(graft), str(tmp_path / "in"), f"{out}/", "--every", "2", "--smooth", "0.5"]) == 0
    pictures = [cv2.imread(str(path)) for path in sorted(out.iterdir())]
    assert [picture.shape[:2] for picture in pictures] == sizes


@pytest.mark.parametrize(
    ("number", "times"), [(signal.SIGTERM, 1), (signal.SIGINT, 1), (signal.SIGHUP, 1), (signal.SIGTERM, 300)]
)
def test_a_signal_while_recording_leaves_a_video_that_plays(
    graft: Path, tmp_path: Path, number: int, times: int
) -> None:
    out, figures = tmp_path / "out.mp4", tmp_path / "figures.json"
    source = "test://?size=320x240&fps=50"
    with start(
        "run", graft, source, out, "--fps", "50", "--loop", "--json", figures, "--threads", "1"
    ) as process:
        wait_for(
            lambda: any(path.stat().st_size > 5000 for path in tmp_path.glob("*.mp4")) or part_of(tmp_path)
        )
        for _ in range(times):
            process.send_signal(number)
        printed, errors = process.communicate(timeout=20)
    assert process.returncode == 0, errors
    assert "Traceback" not in errors
    frames, _ = read_video(out)
    assert len(frames) == json.loads(figures.read_text())["frames"] > 0
    assert f"{len(frames)} frames" in printed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figures.json", "out.mp4"]


def part_of(folder: Path) -> bool:
    """Whether a recording has begun, under whatever name."""
    return any(path.stat().st_size > 5000 for path in folder.glob(".*.mp4"))


def wait_for(condition: object, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.02)


def test_a_second_ctrl_c_quits_at_once(graft: Path) -> None:
    program = f"""
import sys, time
import fastcam_runtime.sinks.null as null
from fastcam_runtime.cli import main
from fastcam_runtime.sinks import Status, predictions
def close(self):
    print("closing", flush=True)
    time.sleep(60)
null.NullSink.close = close
null.NullSink.write = lambda self, picture, status: print("writing", flush=True)
sys.exit(main(["run", {str(graft)!r}, "test://", "null://", "--loop", "--fps", "20"]))
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        process.send_signal(signal.SIGINT)
        while process.stdout.readline() != "closing\n":
            pass
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) == -signal.SIGINT


def test_the_live_page_of_a_run_can_be_opened(graft: Path) -> None:
    import urllib.request

    with start(
        "run", graft, "test://", "http://127.0.0.1:0", "--loop", "--fps", "20", "--threads", "1"
    ) as process:
        assert process.stderr is not None
        url = next(word for line in process.stderr for word in line.split() if word.startswith("http://127"))
        with urllib.request.urlopen(url.rstrip(".,;"), timeout=10) as answer:
            assert answer.status == 200
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)
    assert process.returncode == 0


def test_a_photo_stays_until_it_is_closed(graft: Path, tmp_path: Path) -> None:
    import urllib.request

    cv2.imwrite(str(tmp_path / "photo.png"), np.full((48, 64, 3), 90, np.uint8))
    with start("run", graft, tmp_path / "photo.png", "http://127.0.0.1:0", "--threads", "1") as process:
        assert process.stderr is not None
        told = []
        for line in process.stderr:
            told.append(line)
            if "stays until" in line:
                break
        url = next(word for line in told for word in line.split() if word.startswith("http://127"))
        time.sleep(2)
        assert process.poll() is None
        with urllib.request.urlopen(url.rstrip(".,;") + "snapshot.jpg", timeout=10) as answer:
            assert answer.status == 200
        process.send_signal(signal.SIGTERM)
        printed, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "photo.png: " in printed
    assert told[-1].endswith("stays until you press Ctrl-C here\n")  # a page has no key for it


def test_a_name_that_is_no_utf8(graft: Path, tmp_path: Path) -> None:
    photo = os.fsencode(tmp_path) + b"/bad\xff.png"
    picture = cv2.imencode(".png", np.full((48, 64, 3), 90, np.uint8))[1].tobytes()
    try:
        Path(os.fsdecode(photo)).write_bytes(picture)
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    figures = tmp_path / "figures.json"
    assert main(["run", str(graft), os.fsdecode(photo), "null://", "--json", str(figures)]) == 0
    assert json.loads(figures.read_text())["input"].endswith("bad?.png")


class TestMistakes:
    """One line, exit code 2, nothing left behind."""

    def refused(self, capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
        assert main(["run", *map(str, arguments)]) == 2
        error = capsys.readouterr().err
        lines = [line for line in error.splitlines() if line.startswith("fastcam: error: ")]
        assert len(lines) == 1
        assert "Traceback" not in error
        return lines[0]

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--view", "overlai"], "no view 'overlai'; one of overlay"),
            (["--class", "purple"], "no class 'purple'"),
            (["--class", "3"], "no class 3; the file has 0…2"),
            (["--provider", "abacus"], "provider 'abacus' is unknown; available: auto, cpu"),
            (["--colormap", "rainbow"], "no colour map 'rainbow'"),
            (["--alpha", "2"], "alpha is 2.0"),
            (["--every", "0"], "--every 0: at least 1 is needed"),
            (["--frames", "0"], "--frames 0: at least 1 is needed"),
            (["--smooth", "1"], "smoothing of 1.0"),
            (["--threads", "0"], "0 threads"),
            (["--fps", "-1"], "-1"),
        ],
    )
    def test_options(
        self, graft: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
    ) -> None:
        assert message in self.refused(capsys, graft, "test://", "null://", *options)

    def test_a_view_that_the_file_lacks(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = save_graft(tmp_path / "few.onnx", outputs=("saliency_map",))
        error = self.refused(capsys, path, "test://", "null://", "--view", "lovi")
        assert "--outputs saliency_map,lovi" in error
        assert "overlay, map, side" in error
        error = self.refused(capsys, path, "test://", "null://", "--class", "red")
        assert "--outputs saliency_map,cam,fastcam" in error

    def test_models(self, tmp_path: Path, graft: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert "no such file" in self.refused(capsys, tmp_path / "none.onnx", "test://", "null://")
        short = tmp_path / "short.onnx"
        short.write_bytes(graft.read_bytes()[:-50])
        assert "short.onnx" in self.refused(capsys, short, "test://", "null://")
        plain = save_graft(tmp_path / "plain.onnx", graft=False)
        assert f"fastcam export {plain}" in self.refused(capsys, plain, "test://", "null://")

    def test_inputs_and_outputs(
        self, tmp_path: Path, graft: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert "none.mp4" in self.refused(capsys, graft, tmp_path / "none.mp4", "null://")
        assert "out.xyz" in self.refused(capsys, graft, "test://", tmp_path / "out.xyz")
        empty = tmp_path / "empty.mp4"
        empty.touch()
        out = tmp_path / "out.mp4"
        assert "empty.mp4" in self.refused(capsys, graft, empty, out)
        assert not out.exists()

    def test_no_display(
        self, graft: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.delenv("DISPLAY", raising=False)
        monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
        assert "name an output" in self.refused(capsys, graft, "test://")

    def test_unwritable_json_is_noticed_before_the_work(
        self, tmp_path: Path, graft: Path, clip: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = tmp_path / "file"
        file.touch()
        out = tmp_path / "out.mp4"
        for bad in (file / "figures.json", tmp_path):
            self.refused(capsys, graft, clip, out, "--json", bad)
            assert not out.exists()

    def test_a_size_that_is_none(self, graft: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["run", str(graft), "test://", "null://", "--size", "big"]) == 2
        assert "not WIDTHxHEIGHT" in capsys.readouterr().err


def test_memory_does_not_grow(graft: Path) -> None:
    """A short soak; benchmarks/soak.py has the long one."""
    program = f"""
from fastcam_runtime import Explainer, system
from fastcam_runtime.controls import Controls
from fastcam_runtime.loop import Loop, LoopOptions
from fastcam_runtime.sinks import Sink
from fastcam_runtime.sources import open_source

class Watch(Sink):
    seen = 0
    rss = []
    def write(self, picture, status):
        self.seen += 1
        if self.seen % 500 == 0:
            self.rss.append(system.rss_bytes())

sink = Watch()
source = open_source("test://?size=160x120", loop=True)
explainer = Explainer({str(graft)!r}, threads=1, outputs=["saliency_map"])
Loop(explainer, source, [sink], Controls(("overlay",)), None, LoopOptions(smooth=0.5, frames=3000)).run()
print(max(sink.rss[1:]) - sink.rss[0])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 5_000_000


def test_outputs_may_stand_behind_options(graft: Path, clip: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "a.mp4", tmp_path / "b.mp4"
    arguments = [str(clip), str(first), "--view", "map", str(second), "--threads", "1"]
    assert main(["run", str(graft), *arguments]) == 0
    assert [len(read_video(path)[0]) for path in (first, second)] == [30, 30]


def test_a_picture_is_not_replaced_by_the_first_of_many(
    graft: Path, clip: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "keep.png"
    picture.write_bytes(b"mine")
    assert main(["run", str(graft), str(clip), str(picture), "--threads", "1"]) == 2
    told = capsys.readouterr()
    assert "holds one picture, and the input has more" in told.err
    assert "keep.png: " not in told.out
    assert picture.read_bytes() == b"mine"


def test_names_that_the_system_refuses(graft: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["x" * 5000, "null://"], ["test://", f"{'x' * 5000}.png"]):
        assert main(["run", str(graft), *arguments, "--frames", "1"]) == 2
        assert "File name too long" in capsys.readouterr().err.splitlines()[-1]


def test_a_label_is_printed_as_one_plain_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels = tuple(f"\x1b[31m{'long ' * 40}\n{i}" for i in range(8))
    path = save_graft(tmp_path / "graft.onnx", labels=labels)
    photo = tmp_path / "photo.png"
    cv2.imwrite(str(photo), np.full((40, 40, 3), 90, np.uint8))
    assert main(["run", str(path), str(photo), "null://", "--threads", "1"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.isprintable()
    assert "…" in line
    assert len(line) < 200


def test_a_network_that_tells_no_class(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = save_graft(tmp_path / "graft.onnx", head="places", outputs=("saliency_map",))
    photo = tmp_path / "photo.png"
    cv2.imwrite(str(photo), np.full((40, 40, 3), 90, np.uint8))
    assert main(["run", str(path), str(photo), str(tmp_path / "out.png"), "--threads", "1"]) == 0
    assert re.fullmatch(r".*out\.png: \d+ ms\n", capsys.readouterr().out)


def test_an_empty_class_is_none(graft: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(graft), "test://", "null://", "--class", " "]) == 2
    assert "--class is empty" in capsys.readouterr().err
