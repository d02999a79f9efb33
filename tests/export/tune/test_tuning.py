"""Which forms are measured and chosen. All times are simulated."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import onnx
import pytest
from fastcam_export import graft
from fastcam_export.errors import GraftError
from fastcam_export.tune import Budget, Tuning, report, tune
from fastcam_export.tune.measuring import MOST_PASSES
from fastcam_export.tune.pictures import read_pictures
from fastcam_runtime import FastcamError, native
from fastcam_runtime.measure.paired import WARM_UP
from scipy import stats
from support.networks import small_cnn
from support.tuned import CHEAPER, SHAPES, clock, maps, names, overlap, workbench


def test_a_large_budget_takes_an_exact_form_and_measures_no_approximation(
    plain: Path, pictures: list[np.ndarray]
) -> None:
    tuning = tune(SHAPES, Budget(900), workbench(plain, pictures, clock({})))
    assert names(tuning) == ["functions"]
    assert tuning.best is tuning.measured[0]
    assert tuning.best.cost.median == pytest.approx(1.0)
    assert tuning.best.cost.percent == pytest.approx(10.0)


@pytest.mark.slow
@pytest.mark.skipif(native.library_path() is None, reason=native.status())
def test_the_cheapest_of_the_exact_forms(plain: Path, pictures: list[np.ndarray]) -> None:
    bench = workbench(plain, pictures, clock({"functions": 3, "inline": 1, "prepared": 2}), compiled=True)
    tuning = tune(SHAPES, Budget(50), bench)
    assert [name for name in names(tuning) if name != "prepared"] == ["functions", "inline"]
    assert tuning.best is not None
    assert tuning.best.form.name == "inline"
    assert all(min(one.fidelity.worst) > 0.999 for one in tuning.measured)


@pytest.mark.slow
@pytest.mark.skipif(native.library_path() is None, reason=native.status())
def test_a_network_that_cannot_be_prepared(tmp_path: Path, pictures: list[np.ndarray]) -> None:
    """None of its channel counts is a whole number of blocks."""
    path = tmp_path / "plain.onnx"
    onnx.save(small_cnn(channels=(12, 20, 36)), path)
    bench = workbench(path, pictures, clock({}), compiled=True)
    tuning = tune(SHAPES, Budget(900), bench)
    assert names(tuning) == ["functions", "inline"]
    assert "nothing to prepare" in tuning.unprepared
    assert "prepared: not measured; nothing to prepare" in report.text(tuning, bench.setup(), "pictures")
    with pytest.raises(GraftError, match="nothing to prepare"):
        tune(SHAPES, Budget(900), bench, "prepared")


@pytest.mark.slow
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


@pytest.mark.slow
def test_more_rounds_where_the_budget_is_close(plain: Path, pictures: list[np.ndarray]) -> None:
    """Nine rounds of 1 ms ± 10 % cannot decide whether the cost is 9.4 %; a few times nine can."""
    tuning = tune(SHAPES, Budget(9.4), workbench(plain, pictures, clock({"half-1": 0.94})))
    exact = tuning.named("functions")
    assert 9 < len(exact.samples_ms) == len(exact.plain_ms) < 9 * MOST_PASSES
    assert not exact.is_close_to(tuning.budget)
    assert names(tuning) == ["functions", *CHEAPER]
    assert {len(one.samples_ms) for one in tuning.measured[1:]} == {9}


@pytest.mark.slow
def test_noise_is_no_reason_for_an_approximation(plain: Path, pictures: list[np.ndarray]) -> None:
    tuning = tune(SHAPES, Budget(9.99), workbench(plain, pictures, clock({"half-1": 0.1})))
    assert names(tuning) == ["functions"]
    assert not tuning.budget.allows(tuning.measured[0].cost)
    assert tuning.best is tuning.measured[0]
    assert len(tuning.best.samples_ms) == 9 * MOST_PASSES


@pytest.mark.slow
def test_rounds_that_are_added_begin_anew(plain: Path, pictures: list[np.ndarray]) -> None:
    """A bar that was full stays full: more rounds have one of their own."""
    told: list[tuple[int, int]] = []
    bench = workbench(plain, pictures, clock({}))
    tune(SHAPES, Budget(9.99), bench, progress=lambda _, done, total: told.append((done, total)))
    total = WARM_UP + 9
    assert told == [(done, total) for done in (0, *range(WARM_UP + 1, total + 1))] * MOST_PASSES


@pytest.mark.slow
def test_no_more_rounds_for_a_form_that_is_picked(plain: Path, pictures: list[np.ndarray]) -> None:
    for pick in ("functions", "half-1"):
        tuning = tune(SHAPES, Budget(9.99), workbench(plain, pictures, clock({})), pick)
        assert tuning.named("functions").is_close_to(tuning.budget)
        assert {len(one.samples_ms) for one in tuning.measured} == {9}


@pytest.mark.slow
@pytest.mark.skipif(native.library_path() is None, reason=native.status())
@pytest.mark.parametrize(
    ("costs", "rounds"),
    [
        ({"functions": 0.5}, [9, 9]),
        ({"inline": 0.5}, [9 * MOST_PASSES, 9]),
        ({"functions": 2.0}, [9, 9 * MOST_PASSES]),
    ],
)
def test_no_more_rounds_after_a_form_that_is_within_the_budget(
    plain: Path, pictures: list[np.ndarray], costs: dict[str, float], rounds: list[int]
) -> None:
    tuning = tune(SHAPES, Budget(9.99), workbench(plain, pictures, clock(costs), compiled=True))
    assert [len(tuning.named(name).samples_ms) for name in ("functions", "inline")] == rounds


@pytest.mark.slow
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


@pytest.mark.slow
def test_fidelity_is_that_of_an_independent_computation(plain: Path, pictures: list[np.ndarray]) -> None:
    """Leaving out scale 1 equals naming the other taps with their weights; scipy does the statistics."""
    tuning = tune(SHAPES, Budget(0), workbench(plain, pictures, clock({})), "without-1")
    exact = maps(graft(small_cnn()), pictures)
    other = maps(graft(small_cnn(), taps=["a2", "a3"], weights=[2, 3]), pictures)
    found = tuning.named("without-1").fidelity
    expected = [stats.spearmanr(a.ravel(), b.ravel()).statistic for a, b in zip(exact, other, strict=True)]
    assert found.spearman == pytest.approx(expected, abs=1e-6)
    assert found.overlap == pytest.approx([overlap(a, b) for a, b in zip(exact, other, strict=True)])
    assert max(found.spearman) < 1


@pytest.mark.slow
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
