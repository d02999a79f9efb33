"""`fastcam demo` with its defaults, the content of its files, and what Ctrl-C leaves."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from fastcam_export.cli.progress import Progress
from fastcam_export.demo.clip import LabelRun, Witness
from fastcam_export.demo.contact_sheet import FRAME, Row, _Layout, columns_for, draw_sheet
from fastcam_export.demo.latency import compare, format_latency
from fastcam_export.demo.legend import lovi_colors
from fastcam_export.demo.show import STRIP, draw_pictures
from fastcam_models import default_model
from fastcam_runtime import Explainer, Explanation, Geometry
from fastcam_runtime.cli.main import main
from fastcam_runtime.draw import colormaps
from fastcam_runtime.draw.caption import row_height
from fastcam_runtime.model.grafted import Model
from fastcam_runtime.sinks import Status
from fastcam_runtime.sources.test_clip import PHOTOS, TestClip
from support.clip_boxes import CAT_FACE, CUP, Box
from support.oracle import method
from support.paths import ROOT
from support.processes import fastcam
from support.videos import frames_of, rate_of
from support.waiting import until

pytestmark = pytest.mark.slow

MODEL = "efficientnet-lite0-fastcam.onnx"
FILES = {"overlay.mp4", "sheet.png", "strip.jpg", MODEL}
FRAMES = 12
MAPS = ["saliency_map", *(f"saliency_scale_{k}" for k in range(1, 6))]
MAPS += ["saliency_lovi", "saliency_cam", "saliency_fastcam", "saliency_nonclass"]

BARE_MACHINE = """
import socket, sys
def refuse(*_, **__):
    raise AssertionError("the demo went to the network")
socket.socket.connect = socket.getaddrinfo = refuse
from fastcam_runtime.cli.main import main
code = main(sys.argv[1:])
assert not {"torch", "onnxscript", "matplotlib", "PIL"} & set(sys.modules), "more imported than needed"
sys.exit(code)
"""


class Finished:
    """A whole run of the demo, small, in its own process."""

    def __init__(self, folder: Path) -> None:
        self.out = folder / "a demo"
        arguments = ["--out", self.out, "--frames", FRAMES, "--size", "160x120"]
        arguments += ["--threads", 1, "--rounds", 6]
        environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
        self.process = subprocess.run(
            [sys.executable, "-c", BARE_MACHINE, "demo", *map(str, arguments)],
            capture_output=True,
            text=True,
            env=environment,
            timeout=120,
        )


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    finished = Finished(tmp_path_factory.mktemp("demo"))
    assert finished.process.returncode == 0, finished.process.stderr
    return finished


@pytest.fixture(scope="module")
def model(demo: Finished) -> Model:
    return Model(demo.out / MODEL, threads=1)


@pytest.mark.slow
def test_files_are_there_and_told(demo: Finished) -> None:
    assert {path.name for path in demo.out.iterdir()} == FILES
    printed = demo.process.stdout
    assert all(str(demo.out / name) in printed for name in FILES)
    assert "Egyptian cat" in printed
    assert "espresso" in printed
    assert f"run '{demo.out / MODEL}'" in printed


def test_progress_without_a_terminal_is_plain_lines(demo: Finished) -> None:
    lines = demo.process.stderr.splitlines()
    stages = ("graft efficientnet-lite0.onnx", "draw", "play the clip", "measure")
    assert [line.startswith(stage) for line, stage in zip(lines, stages, strict=True)] == [True] * 4
    assert "\x1b" not in demo.process.stderr
    assert "\r" not in demo.process.stderr


def test_video_has_every_frame(demo: Finished) -> None:
    frames = frames_of(demo.out / "overlay.mp4")
    assert rate_of(demo.out / "overlay.mp4") == pytest.approx(30)
    assert len(frames) == FRAMES
    assert {frame.shape for frame in frames} == {(120 + row_height(120, 160), 160, 3)}
    # The cat and the cup, not the same picture everywhere.
    assert np.abs(frames[0].astype(int) - frames[-1]).mean() > 10


@pytest.mark.parametrize(
    ("photo", "label", "box"),
    [("chelsea.jpg", "Egyptian cat", CAT_FACE), ("coffee.jpg", "espresso", CUP)],
    ids=["cat", "cup"],
)
def test_the_map_is_on_the_subject(model: Model, photo: str, label: str, box: Box) -> None:
    frame = cv2.imread(str(PHOTOS / photo))
    explanation = Explainer.of(model)(frame)
    assert explanation.label == label
    saliency = explanation.maps["saliency_map"]
    assert saliency.shape == (224, 224)
    inside = np.zeros(saliency.shape, bool)
    across, down = 224 / frame.shape[1], 224 / frame.shape[0]
    inside[
        round(box.top * down) : round(box.bottom * down), round(box.left * across) : round(box.right * across)
    ] = True
    assert inside.mean() < 0.45
    most_salient = saliency >= np.quantile(saliency, 0.9)
    assert inside[most_salient].mean() > 0.9


@pytest.mark.slow
def test_latency_compares_three_variants(demo: Finished) -> None:
    variants = compare(default_model(), demo.out / MODEL, rounds=6)
    outputs = [[output.name for output in variant.session.get_outputs()] for variant in variants]
    assert outputs == [["logits"], ["logits", "saliency_map"], ["logits", *MAPS]]
    assert [len(variant.samples) for variant in variants] == [6, 6, 6]
    assert {v.session.get_session_options().intra_op_num_threads for v in variants} == {1}
    variants[0].samples = [10.0, 20.0, 10.0]
    variants[1].samples = [11.0, 21.0, 12.0]
    variants[2].samples = [15.0, 25.0, 15.0]
    _, plain, combined, every, *_ = format_latency(variants).splitlines()
    assert plain.split()[:3] == ["plain", "10.00", "18.00"]
    words = combined.split()
    del words[4]  # the CPU time
    assert words[:7] == ["with", "saliency_map", "12.00", "19.20", "+1.00", "+10.0", "%"]
    words = every.split()
    del words[5]
    assert words[:8] == ["with", "every", "map", "15.00", "23.00", "+5.00", "+50.0", "%"]
    assert all(name in demo.process.stdout for name in ("plain", "with saliency_map", "with every map"))


def test_columns(model: Model) -> None:
    columns = columns_for(model.metadata)
    assert [column.shows for column in columns] == [FRAME, *MAPS]
    scales = [column.subtitle for column in columns if column.title.startswith("scale")]
    assert scales == ["112 x 112", "56 x 56", "28 x 28", "14 x 14", "7 x 7"]


def long_runs(line: np.ndarray, length: int) -> list[tuple[int, ...]]:
    """The colours that at least `length` neighbouring pixels of a line have, in their order."""
    ends = np.flatnonzero(np.any(line[1:] != line[:-1], axis=1)) + 1
    return [tuple(map(int, run[0])) for run in np.split(line, ends) if len(run) >= length]


def uniform_row(model: Model, gray: int, levels: Sequence[int]) -> Row:
    """A gray frame whose maps are uniform, each at a level 0…255 of its own; LOVI pure green."""
    frame = np.full((60, 80, 3), gray, np.uint8)
    maps = {
        name: np.full((14, 14), level / 255, np.float32) for name, level in zip(MAPS, levels, strict=True)
    }
    maps["saliency_lovi"] = np.full((14, 14, 3), (0, 255, 0), np.uint8)
    geometry = Geometry.lay((60, 80), (14, 14), "stretch")
    return Row(0.0, frame, Explanation(np.zeros(3), 0, "a label of five words", 0.5, maps, {}, geometry))


def test_every_tile_is_in_its_place(model: Model) -> None:
    levels = [[20 * (j + 1) + 5 * i for j in range(len(MAPS))] for i in range(2)]
    grays = [250, 200]
    rows = [uniform_row(model, gray, levels[i]) for i, gray in enumerate(grays)]
    sheet = draw_sheet(rows, columns_for(model.metadata), 5, tile_width=96)
    inferno = colormaps.table("inferno")[:, 0]
    expected = []
    for i, gray in enumerate(grays):
        colors = [(gray,) * 3] * len(MAPS)  # a map that is the same everywhere leaves the frame as it is
        for j, name in enumerate(MAPS):
            if "scale" in name:
                colors[j] = tuple(map(int, inferno[levels[i][j]]))
        green = np.rint(0.25 * gray + 0.75 * np.array([0, 255, 0]))
        colors[MAPS.index("saliency_lovi")] = tuple(map(int, green))
        expected.append([(gray,) * 3, *colors])
    found = [[c for c in long_runs(line, 90) if c != (28, 23, 20)] for line in sheet]
    assert expected[0] in found
    assert expected[1] in found
    assert found.index(expected[0]) < found.index(expected[1])
    # Only the bars of the legend are that long.
    assert all(line in (*expected, []) for line in found[: len(found) * 3 // 4])


def test_every_column_shows_its_own_map(model: Model) -> None:
    """On a black frame, each map over it has one bright column of its own."""
    over = ["saliency_map", "saliency_cam", "saliency_fastcam", "saliency_nonclass"]
    row = uniform_row(model, 0, [0] * len(MAPS))
    maps = {name: np.zeros((14, 14), np.float32) for name in over}
    for k, saliency in enumerate(maps.values()):
        saliency[:, 2 + 3 * k] = 1
    row = replace(row, explanation=replace(row.explanation, maps={**row.explanation.maps, **maps}))
    columns = columns_for(model.metadata)
    tiles = _Layout.lay(row.frame, 1, len(columns), 140)
    sheet = draw_sheet([row], columns, 5, tile_width=140)
    for k, name in enumerate(over):
        j = [column.shows for column in columns].index(name)
        light = tiles.tile(0, j).of(sheet).astype(int).sum((0, 2))
        assert light.argmax() * 14 // 140 == 2 + 3 * k


def test_the_demo_says_when_noise_hides_the_difference() -> None:
    """Pairs whose differences vary far more than their mean; and pairs with a constant difference."""
    rng = np.random.default_rng(0)
    base = 10 + rng.normal(0, 0.1, 40)
    lost, clear = base + rng.normal(0, 2, 40), base + 1
    variants = [
        types.SimpleNamespace(name=name, samples=list(values), cpu_samples=list(values))
        for name, values in {"plain": base, "lost": lost, "clear": clear}.items()
    ]
    told = format_latency(variants)
    assert "noise hides the cost of the maps (lost): the interval includes 0" in told
    assert "noise" not in format_latency([variants[0], variants[2]])


def test_legend_has_the_colours_of_lovi() -> None:
    width, height = 401, 50
    colors = lovi_colors(width, height)[..., ::-1].astype(int)
    for k in range(5):
        alone = [np.full((1, 1, 1), float(j == k)) for j in range(5)]
        expected = method.lovi(alone, 1, 1)[0, 0, 0]
        assert np.abs(colors[0, k * (width - 1) // 4] - expected).max() <= 1
    alike = method.lovi([np.ones((1, 1, 1))] * 5, 1, 1)[0, 0, 0]
    assert np.abs(colors[-1] - alike).max() <= 1


def test_the_committed_picture_is_the_demos(model: Model, tmp_path: Path) -> None:
    committed = ROOT / "docs" / "demo.jpg"
    assert committed.stat().st_size <= 200_000
    draw_pictures(model, TestClip(), 300, tmp_path)
    ours, theirs = (cv2.imread(str(path)) for path in (tmp_path / STRIP, committed))
    assert ours.shape == theirs.shape
    assert np.abs(ours.astype(int) - theirs).mean() < 4


def test_labels_seen_are_joined_while_they_last() -> None:
    counts: list[int] = []
    witness = Witness(counts.append)
    said = [("cat", 0.5), ("cat", 0.8), ("cat", 0.4), ("cup", 0.6), ("cat", 0.3)]
    for index, (label, score) in enumerate(said):
        witness.write(np.zeros((2, 2, 3), np.uint8), Status(index, label, score))
    assert witness.labels == [
        LabelRun("cat", 0, 2, 0.4, 0.8),
        LabelRun("cup", 3, 3, 0.6, 0.6),
        LabelRun("cat", 4, 4, 0.3, 0.3),
    ]
    assert counts == [1, 2, 3, 4, 5]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_on_a_terminal_rewrites_its_line() -> None:
    terminal = Terminal()
    with Progress(terminal) as progress:
        progress.begin("play")
        progress.update(1, 4)
        progress.update(4, 4)
        progress.begin("measure")
    lines = terminal.getvalue().split("\n")
    assert len(lines) == 3
    assert "1/4" in lines[0]
    assert lines[0].count("\r") == 3
    assert lines[0].rpartition("\r")[2].endswith(" s")
    assert lines[2] == ""


class TestInterrupted:
    """No partial file is left, and the results of an earlier run are untouched."""

    @staticmethod
    @contextmanager
    def begun(out: Path, stage: str) -> Iterator[subprocess.Popen[str]]:
        """A long demo that has just begun a stage."""
        frames = 10 if stage.startswith("measure") else 3000
        sizes = ["--frames", frames, "--rounds", "3000", "--size", "160x120", "--threads", "1"]
        with fastcam("demo", "--out", out, *sizes) as process:
            assert process.stderr is not None
            told = ""
            while stage not in told:
                letter = process.stderr.read(1)
                assert letter, f"ended too early: {told}"
                told += letter
            yield process

    @pytest.mark.slow
    @pytest.mark.parametrize("stage", ["graft", "measure the latency … "])
    def test_ctrl_c(self, tmp_path: Path, stage: str) -> None:
        out = tmp_path / "demo"
        with self.begun(out, stage) as process:
            process.send_signal(signal.SIGINT)
            printed, errors = process.communicate(timeout=10)
        assert process.returncode == 130
        assert (printed, "Traceback" in errors) == ("", False)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.slow
    @pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
    def test_while_recording_an_earlier_result_stays(self, tmp_path: Path, number: int, code: int) -> None:
        out = tmp_path / "demo"
        out.mkdir()
        for name in FILES:
            (out / name).write_text(f"the good {name}")
        with self.begun(out, "play the clip … ") as process:
            until(
                lambda: any(path.suffix == ".mp4" for path in out.glob(".fastcam-*/.*")), "no video was begun"
            )
            for _ in range(3):  # an impatient person
                process.send_signal(number)
            process.communicate(timeout=10)
        assert process.returncode == code
        assert {path.name: path.read_text() for path in out.iterdir()} == {n: f"the good {n}" for n in FILES}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--frames", "0"], "--frames 0: at least 1 is needed"),
        (["--rounds", "5"], "5 rounds: at least 6 are needed"),
        (["--size", "0x10"], "size 0x10 is not between"),
        (["--threads", "0"], "0 threads: at least 1 is needed"),
    ],
)
def test_mistakes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["demo", "--out", str(tmp_path / "demo"), *arguments]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert f"fastcam: error: {message}" in lines[-1]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_place_that_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "demo"
    file.write_text("mine")
    assert main(["demo", "--out", str(file)]) == 2
    assert f"cannot create the folder {file}" in capsys.readouterr().err
    assert file.read_text() == "mine"
    taken = tmp_path / "taken"
    (taken / "sheet.png").mkdir(parents=True)
    small = ["--frames", "2", "--size", "32x24", "--rounds", "6", "--threads", "1"]
    assert main(["demo", "--out", str(taken), *small]) == 2
    assert f"{taken / 'sheet.png'}: Is a directory" in capsys.readouterr().err
    assert not [path for path in taken.iterdir() if path.name.startswith(".")]
