"""`fastcam tune`: what it prints, asks and writes. Times are never real here."""

from __future__ import annotations

import functools
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import cv2
import numpy as np
import onnx
import pytest
from fastcam_export import graft
from fastcam_export.errors import GraftError
from fastcam_export.tune import Workbench
from fastcam_export.tune.measuring import MOST_PASSES
from fastcam_runtime import Explainer
from fastcam_runtime.cli.main import main
from fastcam_runtime.contract import PREPROCESS
from fastcam_runtime.measure.paired import Variant
from scipy import stats
from support.networks import small_cnn
from support.shared_data import shared
from support.tuned import CHEAPER, clock, maps, overlap

pytestmark = pytest.mark.slow


@pytest.fixture
def costs(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """What the forms cost in ms of a 10 ms network; 1 ms unless a test says otherwise."""
    made_up: dict[str, float] = {}
    monkeypatch.setattr(
        "fastcam_export.cli.tune.Workbench", functools.partial(Workbench, measure=clock(made_up))
    )
    return made_up


def run(capsys: pytest.CaptureFixture[str], *argv: object) -> tuple[int, str, str]:
    code = main(["tune", *map(str, argv), "--threads", "1", "--rounds", "6", "--no-native"])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.usefixtures("pictures")
def test_the_best_form_is_written(
    plain: Path, folder: Path, costs: dict[str, float], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    costs.update({"functions": 2.0, "half-1": 0.4})
    out, figures = tmp_path / "out.onnx", tmp_path / "figures.json"
    code, printed, err = run(
        capsys, plain, "--budget", "5%", "--images", folder / "pictures", "--out", out, "--json", figures
    )
    assert code == 0
    *measured, preprocess, resize, labels = err.splitlines()
    assert [line.split()[1] for line in measured] == ["functions", *CHEAPER]
    assert [line.split()[0] for line in (preprocess, resize, labels)] == ["preprocess", "resize", "labels"]
    for text in ("functions", "half-1", "+0.400", "+4.0 %", "approx.", "mean and worst of 3 pictures"):
        assert text in printed
    explainer = Explainer(out, threads=1)
    assert explainer.metadata.approximation == "scale 32×32 from its first 4 of 8 channels"
    assert explainer(np.zeros((64, 64, 3), np.uint8)).maps["saliency_map"].shape == (64, 64)
    report = json.loads(figures.read_text())
    assert (report["picked"], report["best"], report["file"]) == ("half-1", "half-1", str(out))
    assert report["budget"] == {"limit": 5, "unit": "%"}
    assert [form["name"] for form in report["forms"]] == ["functions", *CHEAPER]
    first = report["forms"][0]
    assert (first["exact"], first["within_budget"]) == (True, False)
    difference = np.array(first["samples_ms"]) - first["plain_ms"]
    assert first["difference_ms"]["median"] == pytest.approx(np.median(difference))
    assert len(first["spearman"]) == len(first["top_overlap"]) == 3


def test_nothing_within_the_budget_writes_nothing(
    plain: Path, costs: dict[str, float], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    costs["without-1"] = 0.25
    out, figures = tmp_path / "out.onnx", tmp_path / "figures.json"
    out.write_bytes(b"what was here before")
    code, _, err = run(
        capsys, plain, "--budget", "0%", "--images", "test://?frames=2", "--out", out, "--json", figures
    )
    assert code == 1
    assert "no form is within the budget of 0 %; the closest is without-1 with +2.5 % (+0.250 ms)" in err
    assert "nothing was written" in err
    assert out.read_bytes() == b"what was here before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figures.json", "out.onnx"]
    assert json.loads(figures.read_text())["picked"] is None


@pytest.mark.parametrize(
    ("cheap", "budget", "written"),
    [(0.1, "9.99", "functions, exact"), (0.4, "4%", "half-1, an approximation")],
)
def test_the_last_line_tells_of_noise(
    cheap: float,
    budget: str,
    written: str,
    plain: Path,
    costs: dict[str, float],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    costs["half-1"] = cheap
    out, figures = tmp_path / "out.onnx", tmp_path / "figures.json"
    code, printed, err = run(
        capsys, plain, "--budget", budget, "--images", "test://?frames=1", "--out", out, "--json", figures
    )
    last = printed.splitlines()[-1]
    assert code == 0
    assert last.startswith(f"{out}: {written}")
    assert f"; too much noise to tell whether it is within {float(budget.strip('%')):g} %: " in last
    report = json.loads(figures.read_text())
    assert [form["undecided"] for form in report["forms"] if form["name"] == report["picked"]] == [True]
    assert err.count("measure functions again … ") == (MOST_PASSES - 1) * (report["picked"] == "functions")


def test_less_than_nothing_is_within_the_budget(
    plain: Path, costs: dict[str, float], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    costs["functions"] = -0.3
    out, figures = tmp_path / "out.onnx", tmp_path / "figures.json"
    code, printed, _ = run(
        capsys, plain, "--budget", "10%", "--images", "test://?frames=1", "--out", out, "--json", figures
    )
    last = printed.splitlines()[-1]
    assert code == 0
    assert "; within 10 %, but a negative cost is a sign of noise: " in last
    assert "measured -3.0 %, -0.300 ms, with 95 % certainty -0.3" in last
    assert "too much noise" not in printed
    assert "yes?" not in printed
    (form,) = json.loads(figures.read_text())["forms"]
    assert (form["within_budget"], form["undecided"], len(form["samples_ms"])) == (True, False, 6)


def test_a_picked_form_is_written_whatever_it_costs(
    plain: Path, costs: dict[str, float], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.onnx"
    argv = (plain, "--budget", "0%", "--images", "test://?frames=2", "--out", out, "--pick")
    assert run(capsys, *argv, "without-1-2")[0] == 0
    metadata = Explainer(out, threads=1).metadata
    assert metadata.approximation == "without scale 32×32; without scale 16×16"
    assert [tap.name for tap in metadata.taps] == ["a3"]
    assert run(capsys, *argv, "functions")[0] == 0
    assert Explainer(out, threads=1).metadata.approximation == ""


def test_the_default_file_and_the_graft_options(
    plain: Path,
    costs: dict[str, float],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("labels.txt").write_text("\n".join("abcdefghij"))
    code, _, _ = run(
        capsys, plain, "--budget", "20", "--images", "test://?frames=2", "--labels", "labels.txt",
        "--preprocess", "unit", "--resize", "crop", "--normalize", "range", "--weights", "equal",
    )  # fmt: skip
    assert code == 0
    metadata = Explainer("plain-tuned.onnx", threads=1).metadata
    assert (metadata.labels, metadata.resize, metadata.normalize) == (tuple("abcdefghij"), "crop", "range")
    assert metadata.preprocess == PREPROCESS["unit"]
    assert {tap.weight for tap in metadata.taps} == {1.0}


def test_an_idle_option_is_noted_once(
    plain: Path, costs: dict[str, float], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run(
        capsys, plain, "--budget", "5%", "--images", "test://?frames=1", "--out", tmp_path / "out.onnx",
        "--statistic", "max", "--epsilon", "1e-3", "--pick", "half-1",
    )  # fmt: skip
    assert code == 0
    notes = [line for line in err.splitlines() if line.startswith("note: ")]
    assert notes == ["note: epsilon 0.001 has no effect: max has none"]


@pytest.mark.slow
def test_a_free_size_is_measured_as_asked(
    costs: dict[str, float],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """For a network with a free size, the bench would assume 224×224."""
    sizes = set()
    made_up = clock({})

    def watched(variants: Sequence[Variant], rounds: int, progress: Callable[[int], None]) -> None:
        sizes.update(variant.feed["input"].shape for variant in variants)
        for variant in variants:
            variant.session.run(None, variant.feed)
        made_up(variants, rounds, progress)

    monkeypatch.setattr("fastcam_export.cli.tune.Workbench", functools.partial(Workbench, measure=watched))
    source = tmp_path / "free.onnx"
    onnx.save(small_cnn("float[N,3,H,W] input"), source)
    code, _, _ = run(
        capsys, source, "--budget", "20", "--images", "test://?frames=2", "--out", tmp_path / "out.onnx",
        "--input-shape", "1,3,48,80",
    )  # fmt: skip
    assert code == 0
    assert sizes == {(1, 3, 48, 80)}


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--budget", "five"], "budget 'five': give a share such as 5%"),
        (["--budget", "5%", "--images", "{tmp}"], "a folder without images"),
        (["--budget", "5%", "--images", "{tmp}/*.jpg"], "matches no image"),
        (["--budget", "5%", "--images", "nowhere.mp4"], "no such file"),
        (["--budget", "5%", "--pick", "halve-1"], "no form named 'halve-1'; closest: half-1"),
        (["--budget", "5%", "--out", "{tmp}/no/out.onnx"], "there is no folder"),
        (["--budget", "5%", "--out", "{plain}"], "is the source file itself"),
        (["--budget", "5%", "--json", "/dev/null/f.json"], "/dev/null"),
        (["--budget", "5%", "--json", "{tmp}/a.onnx", "--out", "{tmp}/./a.onnx"], "named twice"),
        (["--budget", "5%", "--statistic", "smo"], "no statistic named 'smo'; closest: smoe"),
        (["--budget", "5%", "--weights", "1,2"], "2 weights for 3 scales"),
        (["--budget", "5%", "--threads", "0"], "at least 1"),
        (["--budget", "5%", "--pick", "prepared"], "the form prepared is for compiled kernels"),
        (["--budget", "5%", "--json", "{tmp}/new/deep/a.json", "--images", "{tmp}/none"], "none"),
    ],
)
def test_mistakes(
    plain: Path,
    costs: dict[str, float],
    argv: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    filled = [part.format(tmp=tmp_path, plain=plain) for part in argv]
    images = [] if "--images" in argv else ["--images", "test://?frames=1"]
    out = [] if "--out" in argv else ["--out", str(tmp_path / "out.onnx")]
    code = main(["tune", str(plain), "--rounds", "6", "--no-native", *images, *out, *filled])
    printed, err = capsys.readouterr()
    assert (code, printed) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_what_is_read_is_not_written(plain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels = tmp_path / "labels.json"
    labels.write_text(json.dumps([f"class {k}" for k in range(10)]))
    before = labels.read_text()
    code, _, err = run(
        capsys, plain, "--budget", "5%", "--labels", labels, "--json", labels, "--out", tmp_path / "o.onnx"
    )
    assert code == 2
    assert f"{labels}: is an input of this run" in err
    assert labels.read_text() == before


def test_figures_are_kept_where_no_model_can_be_written(
    plain: Path,
    costs: dict[str, float],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def full(*_: object, **__: object) -> None:
        raise GraftError("cannot write it: No space left on device")

    monkeypatch.setattr("fastcam_export.cli.tune.export", full)
    figures = tmp_path / "figures.json"
    argv = ["--budget", "900%", "--images", "test://?frames=1", "--out", tmp_path / "o.onnx"]
    code, _, err = run(capsys, plain, *argv, "--json", figures)
    assert (code, "No space left" in err) == (2, True)
    report = json.loads(figures.read_text())
    assert (report["picked"], report["file"]) == ("functions", None)
    assert report["forms"]


@pytest.mark.slow
def test_a_network_without_a_file(
    costs: dict[str, float],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A torch module is exported once, for any number of forms."""
    pytest.importorskip("torch")
    (tmp_path / "counted_net.py").write_text(
        "from torch import nn\n"
        "calls = []\n"
        "def make():\n"
        "    calls.append(1)\n"
        "    return nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 8, 3, 2, 1), nn.ReLU(),\n"
        "                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    out = tmp_path / "out.onnx"
    code, _, _ = run(
        capsys, "counted_net:make", "--budget", "0", "--pick", "half-1", "--out", out,
        "--input-shape", "1,3,32,32", "--images", "test://?frames=1",
    )  # fmt: skip
    assert code == 0
    assert sys.modules["counted_net"].calls == [1]
    assert Explainer(out, threads=1).metadata.approximation == "scale 16×16 from its first 4 of 8 channels"


def converse(argv: Sequence[object], answers: str, folder: Path) -> tuple[int, str]:
    """Run the command on a pseudo-terminal and answer its questions."""
    controller, terminal = pty.openpty()
    command = [sys.executable, "-m", "fastcam_runtime.cli.main", "tune", *map(str, argv), "--threads", "1"]
    try:
        process = subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, cwd=folder)
        os.write(controller, answers.encode())
        os.close(terminal)
        shown = b""
        while True:
            try:
                shown += os.read(controller, 4096)
            except OSError:  # the other end is closed
                break
        return process.wait(timeout=60), shown.decode()
    finally:
        os.close(controller)


def test_a_terminal_is_asked(plain: Path, tmp_path: Path) -> None:
    argv = (plain, "--budget", "99999999%", "--rounds", "6", "--images", "test://?frames=1", "--no-native")
    code, shown = converse(argv, "half-9\n\n", tmp_path)
    assert "Write which form, or none? [functions]" in shown
    assert "no form named 'half-9'" in shown
    assert code == 0
    assert (tmp_path / "plain-tuned.onnx").is_file()
    (tmp_path / "plain-tuned.onnx").unlink()
    code, _ = converse(argv, "none\n", tmp_path)
    assert code == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_real_network(costs: dict[str, float], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """MobileNetV2 on two photos: the figures in the report are those of an independent computation."""
    model = shared("models/mobilenet_v2.onnx")
    photos = [cv2.resize(cv2.imread(str(shared(f"photos/{name}"))), (224, 224))
              for name in ("105_koala.jpg", "985_daisy.jpg")]  # fmt: skip
    for number, photo in enumerate(photos):
        cv2.imwrite(str(tmp_path / f"{number}.png"), photo)
    out, figures = tmp_path / "out.onnx", tmp_path / "figures.json"
    code, _, _ = run(
        capsys, model, "--budget", "5%", "--images", tmp_path, "--pick", "without-1", "--out", out,
        "--json", figures,
    )  # fmt: skip
    assert code == 0
    exact, chosen = json.loads(figures.read_text())["forms"]
    assert exact["spearman"] == exact["top_overlap"] == [1.0, 1.0]
    taps = [tap.name for tap in Explainer(out, threads=1).metadata.taps]
    assert len(taps) == 4
    reference = maps(graft(model), photos)
    other = maps(graft(model, taps=taps, weights=[0.15, 0.37, 0.4, 0.72]), photos)
    pairs = list(zip(reference, other, strict=True))
    expected = [stats.spearmanr(a.ravel(), b.ravel()).statistic for a, b in pairs]
    assert chosen["spearman"] == pytest.approx(expected, abs=1e-5)
    assert chosen["top_overlap"] == pytest.approx([overlap(a, b) for a, b in pairs], abs=1e-3)
    assert 0.9 < min(expected) < max(expected) < 1
