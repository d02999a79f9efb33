"""Statistics, normalisations and combinations against the paper's reference code, where that is correct.

`tests/golden/README.md` says what each file holds and where the reference is known to be wrong.
"""

from __future__ import annotations

import numpy as np
import pytest
from fastcam_export.method.bilinear import upsample
from fastcam_export.method.combine import combine
from fastcam_export.method.normalize import normalize
from fastcam_export.method.statistics import statistic
from support.oracle import method
from support.paths import GOLDEN
from support.steps import run_step


def golden(name: str) -> dict[str, np.ndarray]:
    with np.load(GOLDEN / f"{name}.npz", allow_pickle=False) as file:
        return {key: file[key] for key in file.files}


def run_statistic(name: str, x: np.ndarray, *, epsilon: float = 1e-7, nonnegative: bool = True) -> np.ndarray:
    _, channels, height, width = x.shape
    step = statistic(
        name,
        opset=17,
        channels=channels,
        height=height,
        width=width,
        epsilon=epsilon,
        nonnegative=nonnegative,
    )
    return run_step(step, x)


@pytest.mark.parametrize(
    "case", ["relu", "dynrange", "equal", "onechan", "twochan", "wide", "signed_runrelu"]
)
def test_smoe_matches_the_reference(case: str) -> None:
    data = golden("stat_smoe")
    x, expected = data[f"in_{case}"], data[f"out64_{case}"]
    found = run_statistic("smoe", x, nonnegative=case != "signed_runrelu")
    np.testing.assert_allclose(method.smoe(x, 1e-7), expected, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * max(np.ptp(expected), 1e-2))


def test_smoe_matches_the_paper() -> None:
    data = golden("paper_smoe_examples")
    found = run_statistic("smoe", data["inputs"])
    np.testing.assert_allclose(found.ravel(), data["published_smoe"], rtol=0, atol=5.1e-4)
    np.testing.assert_allclose(found, data["ref_smoe"], rtol=1e-5)


@pytest.mark.parametrize("case", ["relu", "wide", "dynrange"])
def test_smoe_with_the_papers_epsilon(case: str) -> None:
    data = golden("derived_paper_only_stats")
    expected = data[f"smoe_eps1e-6_{case}"]
    found = run_statistic("smoe", data[f"in_{case}"], epsilon=1e-6)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.ptp(expected))


def run_normalize(name: str, s: np.ndarray) -> np.ndarray:
    return run_step(normalize(name, opset=17, height=s.shape[1], width=s.shape[2]), s)


@pytest.mark.parametrize("case", ["small", "heavy", "signed", "narrow"])
@pytest.mark.parametrize("name", ["gauss", "range"])
def test_normalisation_matches_the_reference(name: str, case: str) -> None:
    data = golden(f"norm_{name}")
    found = run_normalize(name, data[f"in_{case}"])
    np.testing.assert_allclose(found, data[f"out64_{case}"], rtol=0, atol=2e-6)


@pytest.mark.parametrize("case", ["const", "onepix"])
def test_range_of_a_constant_map_matches_the_reference(case: str) -> None:
    data = golden("norm_range")
    np.testing.assert_array_equal(run_normalize("range", data[f"in_{case}"]), data[f"out_{case}"])


@pytest.mark.parametrize("case", ["small", "heavy", "signed", "narrow"])
def test_gamma_is_near_the_true_distribution_function(case: str) -> None:
    """The normal form is an approximation: within 0.05 of the exact function, and in the same order."""
    data = golden("norm_gamma")
    s = data[f"in_{case}"]
    found = run_normalize("gamma", s)
    assert np.abs(found - data[f"exact_{case}"]).max() < 0.05
    for image, normalised in zip(s, found, strict=True):
        assert (np.diff(normalised.ravel()[np.argsort(image, axis=None)]) >= 0).all()


COMBINE = [
    "nonsquare_downsample_4maps",
    "nonsquare_ratio_3maps",
    "pow2_5maps_12345",
    "pow2_5maps_equal",
    "pow2_5maps_prior",
    "resnet224_5maps_prior_1img",
]


@pytest.mark.parametrize("case", COMBINE)
def test_combination_matches_the_reference(case: str) -> None:
    data = golden(f"combine_{case}")
    weights = data["weights"].tolist()
    maps = [data[f"map_{k}"] for k in range(len(weights))]
    height, width = data["output_size"].tolist()
    sizes = [m.shape[1:] for m in maps]
    found = run_step(combine(opset=17, sizes=sizes, size=(height, width), weights=weights), *maps)
    np.testing.assert_allclose(found, data["combined"], rtol=0, atol=2e-6)
    if "each" in data:
        for k, m in enumerate(maps):
            step = upsample(opset=17, size_from=m.shape[1:], size_to=(height, width))
            np.testing.assert_allclose(run_step(step, m), data["each"][:, k], rtol=0, atol=2e-6)


def test_the_whole_saliency_branch_matches_the_reference() -> None:
    """Taps of a small network, through SMOE, gauss and the combination."""
    data = golden("fastcam_smallcnn")
    maps = []
    for tap in ("relu", "layer1", "layer2", "layer3", "layer4"):
        raw = run_statistic("smoe", data[f"tap_{tap}"])
        np.testing.assert_allclose(raw, data[f"smoe_raw_{tap}"], rtol=0, atol=1e-5 * np.ptp(raw))
        maps.append(run_normalize("gauss", raw))
        np.testing.assert_allclose(maps[-1], data[f"smoe_norm_gauss_{tap}"], rtol=0, atol=1e-5)
    for weights, key in (([1] * 5, "equalw"), ([0.18, 0.15, 0.37, 0.4, 0.72], "prior")):
        step = combine(opset=17, sizes=[m.shape[1:] for m in maps], size=(72, 56), weights=weights)
        found = run_step(step, *maps)
        np.testing.assert_allclose(found, data[f"smoe_combined_gauss_{key}"], rtol=0, atol=1e-5)
