"""The candidates that the study computes from the parts of the exported map."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from fastcam_export.load import load
from fastcam_export.method.weights import PRIOR
from fastcam_runtime.contract import MAP, SCALE_PREFIX
from scipy.stats import rankdata
from torch.nn import functional

from benchmarks.quality import our_maps, study_plan
from benchmarks.quality.our_maps import OurMaps, weighted_mean
from benchmarks.quality.retraining.small_resnet import small_resnet

pytestmark = pytest.mark.slow  # torch's exporter takes some seconds

Maps = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Maps, list[np.ndarray]]:
    """The maps of a small network and picture, the default without a class only; and its five scales."""
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("network") / "small.onnx"
    example = torch.zeros(1, 3, 64, 64)
    path.write_bytes(load(small_resnet(4).eval(), example=example).proto.SerializeToString())
    tensor = np.random.default_rng(0).normal(size=(3, 64, 64)).astype(np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study_plan, "OURS", {MAP: {}})
        ours = OurMaps(path, 1)
        session = ours._cams["Grad-CAM"]
        names = [one.name for one in session.get_outputs() if one.name.startswith(SCALE_PREFIX)]
        return ours(tensor), our_maps._run(session, names, tensor)


def _upsampled(scale: np.ndarray) -> np.ndarray:
    """To 64×64, by torch in float64."""
    large = functional.interpolate(
        torch.from_numpy(scale[None, None].astype(np.float64)), (64, 64), mode="bilinear"
    )
    return large[0, 0].numpy()


def test_the_weighted_mean_of_the_scales_is_the_graphs_map(parts: tuple[Maps, list[np.ndarray]]) -> None:
    found, scales = parts
    assert [scale.shape for scale in scales] == [(side, side) for side in (64, 32, 16, 8, 4)]
    mean = weighted_mean(scales, PRIOR, (64, 64))
    assert np.abs(mean - found["saliency_map"]).max() <= 1e-5
    assert np.ptp(mean) > 0.1
    assert np.abs(weighted_mean(scales, [1] * 5, (64, 64)) - mean).max() > 0.01  # the weights matter


def test_the_geometric_mean_is_that_of_the_formula(parts: tuple[Maps, list[np.ndarray]]) -> None:
    found, scales = parts
    logs = [weight * np.log(scale.astype(np.float64)) for weight, scale in zip(PRIOR, scales, strict=True)]
    expected = np.exp(sum(map(_upsampled, logs)) / sum(PRIOR))
    assert found["geometric mean"] == pytest.approx(expected, abs=1e-5)
    assert found["geometric × Grad-CAM"] == pytest.approx(expected * found["Grad-CAM"], abs=1e-5)


def test_products_are_those_of_map_and_class_map(parts: tuple[Maps, list[np.ndarray]]) -> None:
    found, _ = parts
    saliency, cam = found["saliency_map"], found["Grad-CAM"]
    assert np.ptp(cam) > 0.1
    assert found["map × √Grad-CAM"] == pytest.approx(saliency * cam**0.5, abs=1e-6)
    assert np.corrcoef(found["map × Grad-CAM"].ravel(), (saliency * cam).ravel())[0, 1] > 0.9999


def test_the_rank_average_orders_pixels_as_both_maps_do(parts: tuple[Maps, list[np.ndarray]]) -> None:
    """Less the place in the map it is the place in the class map, where equal values have any order."""
    found, _ = parts
    saliency, cam, pixels = found["saliency_map"].ravel(), found["Grad-CAM"].ravel(), 64 * 64
    places = 2 * pixels * found["rank average"].ravel() - rankdata(saliency)
    values, inverse, counts = np.unique(saliency, return_inverse=True, return_counts=True)
    assert len(values) > 0.99 * pixels
    sure = np.flatnonzero(counts[inverse] == 1)
    order = sure[np.argsort(places[sure])]
    assert places[order] == pytest.approx(places[order].round(), abs=0.01)
    assert (np.diff(places[order]) > 0.9).all()
    assert 1 <= places[order[0]].round() <= places[order[-1]].round() <= pixels
    assert (np.diff(cam[order]) >= 0).all()


def test_only_the_first_scale_is_blurred(
    parts: tuple[Maps, list[np.ndarray]], monkeypatch: pytest.MonkeyPatch
) -> None:
    found, scales = parts
    rest = found["first scale blurred"] - found["saliency_map"] + PRIOR[0] * scales[0] / sum(PRIOR)
    blurred = rest * sum(PRIOR) / PRIOR[0]
    middle = np.s_[32, 32]
    distance = np.arange(64) - 32
    weights = np.exp(-(distance**2) / (2 * study_plan.FIRST_SCALE_BLUR**2))
    weights /= weights.sum()
    assert blurred[middle] == pytest.approx(weights @ scales[0] @ weights, abs=0.01)
    assert np.abs(blurred - scales[0]).max() > 0.05
