"""`fastcam tune`: what is measured, what is chosen and what is written. Times are never real here."""

from __future__ import annotations

import functools
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import cv2
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from fastcam_export import graft
from fastcam_export.errors import GraftError
from fastcam_export.tune import Budget, Fidelity, Tuning, Workbench, report, tune
from fastcam_export.tune.fidelity import ranks, spearman, top_overlap
from fastcam_export.tune.forms import cheaper_forms, exact_forms
from fastcam_export.tune.pictures import LARGEST_SIDE, MOST, read_pictures
from fastcam_runtime import Explainer, FastcamError, native
from fastcam_runtime.bench import BenchOptions, Difference, Variant
from fastcam_runtime.cli import main
from fastcam_runtime.contract import PREPROCESS
from networks import small_cnn
from scipy import stats
from shared_data import shared

SHAPES = [(1, 8, 32, 32), (1, 12, 16, 16), (1, 16, 8, 8)]
CHEAPER = ["half-1", "half-1-2", "quarter-1-2", "without-1", "without-1+half-2",
           "without-1+quarter-2", "without-1-2"]  # fmt: skip
PLAIN = 10.0
Measure = Callable[[Sequence[Variant], int, Callable[[int], None]], None]


def clock(costs: Mapping[str, float], otherwise: float = 1.0) -> Measure:
    """Takes times of its own making: the plain network 10 ms, each form its cost more, ±10 %."""

    def measure(variants: Sequence[Variant], rounds: int, progress: Callable[[int], None]) -> None:
        spread = np.linspace(0.9, 1.1, rounds)
        for variant in variants:
            cost = 0 if variant.name == "plain" else costs.get(variant.name, otherwise)
            variant.samples = (PLAIN + cost * spread).tolist()
        for number in range(rounds):
            progress(number)

    return measure


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tune")


@pytest.fixture(scope="module")
def plain(folder: Path) -> Path:
    path = folder / "plain.onnx"
    onnx.save(small_cnn(), path)
    return path


@pytest.fixture(scope="module")
def pictures(folder: Path) -> list[np.ndarray]:
    """Pictures of the network's own size, so that nothing is resized on the way."""
    random = np.random.default_rng(0)
    target = folder / "pictures"
    target.mkdir()
    images = [cv2.GaussianBlur(random.integers(0, 256, (64, 64, 3), np.uint8), (5, 5), 0) for _ in range(3)]
    for number, image in enumerate(images):
        cv2.imwrite(str(target / f"{number}.png"), image)
    return images


def workbench(model: Path, pictures: Sequence[np.ndarray], measure: Measure, **options: object) -> Workbench:
    settings = BenchOptions(threads=1, provider="cpu", rounds=9, native=bool(options.pop("native", False)))
    return Workbench(model, options, pictures, settings, measure)


def names(tuning: Tuning) -> list[str]:
    return [one.form.name for one in tuning.measured]


# Fidelity


@pytest.mark.parametrize("values", [5, 50, 10**9], ids=["many ties", "ties", "no ties"])
def test_spearman_is_scipys(values: int) -> None:
    random = np.random.default_rng(values)
    a, b = random.integers(0, values, (2, 40, 30)).astype(np.float32)
    b = a + b
    np.testing.assert_array_equal(ranks(a), stats.rankdata(a))
    assert spearman(a, b) == pytest.approx(stats.spearmanr(a.ravel(), b.ravel()).statistic, abs=1e-12)
    assert spearman(a, -b) == pytest.approx(-spearman(a, b))
    assert spearman(a, a) == 1


def test_a_constant_map_has_no_order() -> None:
    flat, other = np.zeros((4, 4)), np.arange(16.0).reshape(4, 4)
    assert spearman(flat, flat + 1) == 1
    assert spearman(flat, other) == 0


def test_overlap_of_the_most_salient_tenth() -> None:
    random = np.random.default_rng(0)
    a = random.permutation(400).reshape(20, 20).astype(np.float32)
    b = a + 30 * random.standard_normal((20, 20)).astype(np.float32)
    top_a, top_b = (set(np.flatnonzero(m.ravel() > np.sort(m.ravel())[-41])) for m in (a, b))
    assert len(top_a) == len(top_b) == 40
    assert 0 < top_overlap(a, b) < 1
    assert top_overlap(a, b) == len(top_a & top_b) / 40
    assert top_overlap(a, a) == 1
    assert top_overlap(a, -a) == 0
    # A map with ties at the edge of the mask still has exactly a tenth in it.
    assert top_overlap(np.round(a, -2), np.round(a, -2)) == 1


def test_mean_and_worst() -> None:
    fidelity = Fidelity((1.0, 0.5, 0.9), (0.2, 0.6, 1.0))
    assert fidelity.mean == pytest.approx((0.8, 0.6))
    assert fidelity.worst == (0.5, 0.2)


# Budget


@pytest.mark.parametrize(
    ("text", "limit", "unit"),
    [("5%", 5, "%"), ("5", 5, "%"), ("0.5ms", 0.5, "ms"), (" 2.5 % ", 2.5, "%"), (".5 ms", 0.5, "ms")],
)
def test_budgets(text: str, limit: float, unit: str) -> None:
    assert Budget.parse(text) == Budget(limit, unit)


@pytest.mark.parametrize("text", ["", "five", "-5%", "5s", "5%%", "nan", "1e3", "ms", "."])
def test_not_a_budget(text: str) -> None:
    with pytest.raises(FastcamError, match=r"give a share such as 5% or a time such as 0\.5ms"):
        Budget.parse(text)


def test_what_a_budget_allows() -> None:
    cost = Difference(median=0.5, quartiles=(0.4, 0.6), interval=(0.45, 0.55), percent=5.0)
    for text, allowed, close in (
        ("5%", True, True), ("4.9", False, True), ("4%", False, False), ("6%", True, False),
        ("0.5ms", True, True), ("0.4ms", False, False),
    ):  # fmt: skip
        budget = Budget.parse(text)
        assert (budget.allows(cost), budget.is_close(cost, PLAIN)) == (allowed, close)


def test_maps_that_seem_to_cost_less_than_nothing_are_doubted() -> None:
    cost = Difference(median=-0.5, quartiles=(-0.6, -0.4), interval=(-0.55, -0.45), percent=-5.0)
    assert Budget.parse("5%").is_close(cost, PLAIN)


# Forms


def test_forms_of_a_small_network() -> None:
    assert [(form.name, form.exact) for form in exact_forms(kernels=True)] == [
        ("prepared", True),
        ("functions", True),
        ("inline", True),
    ]
    assert [form.name for form in exact_forms(kernels=False)] == ["functions"]
    forms = cheaper_forms(SHAPES, kernels=False)
    assert [form.name for form in forms] == CHEAPER
    assert not any(form.exact for form in forms)
    shares = {form.name: form.options["channel_share"] for form in forms}
    assert shares["half-1"] == (0.5, 1, 1)
    assert shares["quarter-1-2"] == (0.25, 0.25, 1)
    assert shares["without-1+half-2"] == (0, 0.5, 1)
    assert shares["without-1-2"] == (0, 0, 1)
    with_kernels = [form.name for form in cheaper_forms(SHAPES, kernels=True)]
    assert with_kernels == ["quarter-1", *(name for name in CHEAPER if "half" not in name)]


def test_forms_that_would_read_the_same_channels_are_one() -> None:
    """Channels are read in groups of four: of eight, a quarter is half of them, and of four all."""
    few = [(1, 8, 32, 32), (1, 4, 16, 16)]
    assert [form.name for form in cheaper_forms(few, kernels=False)] == ["half-1", "without-1"]


def test_the_largest_scales_go_first_and_one_remains() -> None:
    middle = [(1, 4, 32, 32), (1, 64, 32, 32), (1, 8, 8, 8)]
    assert [form.name for form in cheaper_forms(middle, kernels=False)] == [
        "half-2", "quarter-2", "without-2", "without-1-2",
    ]  # fmt: skip
    assert [form.name for form in cheaper_forms([(1, 16, 32, 32)], kernels=False)] == ["half-1", "quarter-1"]
    resnet50 = [(1, 64, 112, 112), (1, 256, 56, 56), (1, 512, 28, 28), (1, 1024, 14, 14), (1, 2048, 7, 7)]
    found = [form.name for form in cheaper_forms(resnet50, kernels=False)]
    assert "half-1-2-3" in found
    assert found[-1] == "without-1-2-3"
    assert len(set(found)) == len(found)


# Pictures


def test_pictures_of_a_folder(folder: Path, pictures: list[np.ndarray]) -> None:
    found = read_pictures(str(folder / "pictures"))
    assert len(found) == len(pictures)
    for image, expected in zip(found, pictures, strict=True):
        np.testing.assert_array_equal(image, expected)


@pytest.mark.parametrize("count", [1, MOST, MOST + 1, 3 * MOST, 7 * MOST + 5])
def test_pictures_spread_over_a_clip(count: int) -> None:
    from fastcam_runtime.sources import open_source

    uri = f"test://?frames={count}"  # large enough for every frame to be another
    with open_source(uri) as source:
        every = [hash(frame.image.tobytes()) for frame in iter(source.read, None)]
    found = [every.index(hash(image.tobytes())) for image in read_pictures(uri)]
    assert len(found) == min(count, MOST)
    gaps = np.diff([*found, count])
    assert found[0] == 0
    assert gaps.max() <= 2 * count / len(found) + 1
    assert gaps.min() >= 1


def test_an_endless_source_and_a_large_photo() -> None:
    assert len(read_pictures("test://?frames=0&size=8x8")) == MOST
    (picture,) = read_pictures("test://?frames=1&size=1600x800")
    assert picture.shape == (LARGEST_SIDE // 2, LARGEST_SIDE, 3)


# Tuning


def test_a_large_budget_takes_an_exact_form_and_measures_no_approximation(
    plain: Path, pictures: list[np.ndarray]
) -> None:
    tuning = tune(SHAPES, Budget(900), workbench(plain, pictures, clock({})))
    assert names(tuning) == ["functions"]
    assert tuning.best is tuning.measured[0]
    assert tuning.best.cost.median == pytest.approx(1.0)
    assert tuning.best.cost.percent == pytest.approx(10.0)


@pytest.mark.skipif(native.library_path() is None, reason=native.status())
def test_the_cheapest_of_the_exact_forms(plain: Path, pictures: list[np.ndarray]) -> None:
    bench = workbench(plain, pictures, clock({"functions": 3, "inline": 1, "prepared": 2}), native=True)
    tuning = tune(SHAPES, Budget(50), bench)
    assert [name for name in names(tuning) if name != "prepared"] == ["functions", "inline"]
    assert tuning.best is not None
    assert tuning.best.form.name == "inline"
    assert all(min(one.fidelity.worst) > 0.999 for one in tuning.measured)


@pytest.mark.skipif(native.library_path() is None, reason=native.status())
def test_a_network_that_cannot_be_prepared(tmp_path: Path, pictures: list[np.ndarray]) -> None:
    """No number of its channels is a whole number of blocks."""
    path = tmp_path / "plain.onnx"
    onnx.save(small_cnn(channels=(12, 20, 36)), path)
    bench = workbench(path, pictures, clock({}), native=True)
    tuning = tune(SHAPES, Budget(900), bench)
    assert names(tuning) == ["functions", "inline"]
    assert "nothing to prepare" in tuning.unprepared
    assert "prepared: not measured; nothing to prepare" in report.text(tuning, bench.setup(), "pictures")
    with pytest.raises(GraftError, match="nothing to prepare"):
        tune(SHAPES, Budget(900), bench, "prepared")


def test_the_most_faithful_approximation_within_the_budget(plain: Path, pictures: list[np.ndarray]) -> None:
    costs = {"functions": 3.0, "half-1": 2.0, "without-1": 0.4, "without-1-2": 0.3, "half-1-2": 0.45}
    tuning = tune(SHAPES, Budget(5), workbench(plain, pictures, clock(costs)))
    assert names(tuning) == ["functions", *CHEAPER]
    within = [one for one in tuning.measured if one.form.name in ("without-1", "without-1-2", "half-1-2")]
    assert tuning.best is max(within, key=lambda one: np.mean(one.fidelity.spearman))
    for one in tuning.measured:
        assert (one.approximation == "") == one.form.exact == (min(one.fidelity.worst) == 1)
    nothing = Tuning(Budget(2.9), tuning.measured)
    assert nothing.best is None
    assert nothing.cheapest.form.name == "without-1-2"


@pytest.mark.parametrize(("pick", "measured"), [("functions", []), ("half-1", ["half-1"])])
def test_a_picked_form_is_measured_and_no_other(
    plain: Path, pictures: list[np.ndarray], pick: str, measured: list[str]
) -> None:
    for budget in (Budget(0), Budget(900)):
        tuning = tune(SHAPES, budget, workbench(plain, pictures, clock({})), pick)
        assert names(tuning) == ["functions", *measured]
        assert tuning.named(pick).form.name == pick


def test_an_unknown_pick(plain: Path, pictures: list[np.ndarray]) -> None:
    def never(*_: object) -> None:
        raise AssertionError("measured before the mistake was found")

    with pytest.raises(
        FastcamError, match=r"no form named 'hal-1'; closest: half-1.*; there are functions, "
    ):
        tune(SHAPES, Budget(5), workbench(plain, pictures, never), "hal-1")


def maps(model: onnx.ModelProto, pictures: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The maps of a graft by onnxruntime alone, without the runtime of this project."""
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    imagenet = PREPROCESS["imagenet"]
    found = []
    for picture in pictures:
        x = ((picture[..., ::-1] - np.array(imagenet.mean)) / imagenet.std).transpose(2, 0, 1)[None]
        found.append(session.run(["saliency_map"], {name: x.astype(np.float32)})[0][0])
    return found


def overlap(a: np.ndarray, b: np.ndarray) -> float:
    count = round(a.size / 10)
    first, second = (set(sorted(range(m.size), key=lambda i, m=m: -m.flat[i])[:count]) for m in (a, b))
    return len(first & second) / count


def test_fidelity_is_that_of_an_independent_computation(plain: Path, pictures: list[np.ndarray]) -> None:
    """Leaving scale 1 out is naming the other taps with their weights; scipy does the statistics."""
    tuning = tune(SHAPES, Budget(0), workbench(plain, pictures, clock({})), "without-1")
    exact = maps(graft(small_cnn()), pictures)
    other = maps(graft(small_cnn(), taps=["a2", "a3"], weights=[2, 3]), pictures)
    found = tuning.named("without-1").fidelity
    expected = [stats.spearmanr(a.ravel(), b.ravel()).statistic for a, b in zip(exact, other, strict=True)]
    assert found.spearman == pytest.approx(expected, abs=1e-6)
    assert found.overlap == pytest.approx([overlap(a, b) for a, b in zip(exact, other, strict=True)])
    assert max(found.spearman) < 1


def test_bars_of_a_letterbox_do_not_count(plain: Path) -> None:
    wide = [cv2.resize(picture, (64, 32)) for picture in read_pictures("test://?frames=2&size=128x64")]
    bench = workbench(plain, wide, clock({}), resize="letterbox")
    found = tune(SHAPES, Budget(0), bench, "without-1").named("without-1").fidelity
    barred = [np.full((64, 64, 3), (103.53, 116.28, 123.675)) for _ in wide]
    for bar, picture in zip(barred, wide, strict=True):
        bar[16:48] = picture
    exact, other = (
        [m[16:48] for m in maps(model, barred)]
        for model in (graft(small_cnn()), graft(small_cnn(), taps=["a2", "a3"], weights=[2, 3]))
    )
    expected = [stats.spearmanr(a.ravel(), b.ravel()).statistic for a, b in zip(exact, other, strict=True)]
    assert found.spearman == pytest.approx(expected, abs=1e-5)


# The command


@pytest.fixture
def costs(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """What the forms cost in ms of a 10 ms network; 1 ms unless a test says otherwise."""
    made_up: dict[str, float] = {}
    monkeypatch.setattr(
        "fastcam_export.tune.command.Workbench", functools.partial(Workbench, measure=clock(made_up))
    )
    return made_up


def run(capsys: pytest.CaptureFixture[str], *argv: object) -> tuple[int, str, str]:
    code = main(["tune", *map(str, argv), "--threads", "1", "--rounds", "6", "--no-native"])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_best_form_is_written(
    plain: Path, folder: Path, costs: dict[str, float], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    costs.update({"functions": 2.0, "half-1": 0.4})
    out, figures = tmp_path / "out.onnx", tmp_path / "figures.json"
    code, printed, err = run(
        capsys, plain, "--budget", "5%", "--images", folder / "pictures", "--out", out, "--json", figures
    )
    assert code == 0
    assert [line.split()[1] for line in err.splitlines()] == ["functions", *CHEAPER]
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


def test_a_free_size_is_measured_as_asked(
    costs: dict[str, float],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The bench would make up 224×224 for a network that leaves its size free."""
    sizes = set()
    made_up = clock({})

    def watched(variants: Sequence[Variant], rounds: int, progress: Callable[[int], None]) -> None:
        sizes.update(variant.feed["input"].shape for variant in variants)
        for variant in variants:
            variant.session.run(None, variant.feed)
        made_up(variants, rounds, progress)

    monkeypatch.setattr(
        "fastcam_export.tune.command.Workbench", functools.partial(Workbench, measure=watched)
    )
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
        (["--budget", "5%", "--json", "{tmp}/a.json", "--out", "{tmp}/./a.json"], "named twice"),
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
    assert f"{labels}: is read in this run" in err
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

    monkeypatch.setattr("fastcam_export.tune.command.export", full)
    figures = tmp_path / "figures.json"
    argv = ["--budget", "900%", "--images", "test://?frames=1", "--out", tmp_path / "o.onnx"]
    code, _, err = run(capsys, plain, *argv, "--json", figures)
    assert (code, "No space left" in err) == (2, True)
    report = json.loads(figures.read_text())
    assert (report["picked"], report["file"]) == ("functions", None)
    assert report["forms"]


def test_a_network_without_a_file(
    costs: dict[str, float],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A torch module is exported once, however many forms are measured."""
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
    """Run the command on a terminal of its own and answer its questions."""
    controller, terminal = pty.openpty()
    command = [sys.executable, "-m", "fastcam_runtime.cli", "tune", *map(str, argv), "--threads", "1"]
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
