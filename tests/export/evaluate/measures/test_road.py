"""ROAD's imputation: against a dense solution of its equations, and against the package `grad-cam`."""

from __future__ import annotations

from functools import partial

import cv2
import numpy as np
import pytest
from fastcam_export.evaluate.measures import road
from fastcam_export.evaluate.measures.masks import ranking, top
from fastcam_export.evaluate.measures.road import LEVELS, gains, impute
from onnxruntime import InferenceSession
from scipy.special import softmax
from support.networks import add_weights, small_cnn, take_weights

WEIGHTS = {(-1, 0): 1 / 6, (1, 0): 1 / 6, (0, -1): 1 / 6, (0, 1): 1 / 6,
           (-1, -1): 1 / 12, (-1, 1): 1 / 12, (1, -1): 1 / 12, (1, 1): 1 / 12}  # fmt: skip


def _picture(size: int, seed: int = 0) -> np.ndarray:
    noise = np.random.default_rng(seed).standard_normal((size, size, 3)).astype(np.float32)
    return np.ascontiguousarray(cv2.GaussianBlur(noise, (0, 0), 2).transpose(2, 0, 1))


def _missing(size: int, share: float, *, blobs: bool) -> np.ndarray:
    noise = np.random.default_rng(1).random((size, size)).astype(np.float32)
    if blobs:
        noise = cv2.GaussianBlur(noise, (0, 0), size / 8)
    return np.asarray(noise > np.quantile(noise, 1 - share))


def _dense(picture: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """Every equation written down, solved in float64."""
    places = {tuple(place): k for k, place in enumerate(np.argwhere(missing))}
    matrix, right = np.zeros((len(places), len(places))), np.zeros((len(places), 3))
    for (row, column), k in places.items():
        for (down, across), weight in WEIGHTS.items():
            other = row + down, column + across
            if not (0 <= other[0] < missing.shape[0] and 0 <= other[1] < missing.shape[1]):
                continue
            matrix[k, k] += weight
            if other in places:
                matrix[k, places[other]] -= weight
            else:
                right[k] += weight * picture[:, other[0], other[1]].astype(np.float64)
    filled = picture.astype(np.float64).copy()
    filled[:, missing] = np.linalg.solve(matrix, right).T
    return filled


@pytest.mark.parametrize("blobs", [False, True])
@pytest.mark.parametrize("share", [0.2, 0.8])
def test_imputed_pixels_solve_the_equations(share: float, blobs: bool) -> None:
    picture, missing = _picture(36), _missing(36, share, blobs=blobs)
    assert impute(picture, missing, steps=400) == pytest.approx(_dense(picture, missing), abs=2e-5)


@pytest.mark.parametrize("share", [0.25, 0.75])
def test_the_steps_of_an_evaluation_are_enough(share: float) -> None:
    picture, missing = _picture(96), _missing(96, share, blobs=True)
    error = impute(picture, missing) - impute(picture, missing, steps=2000)
    assert error.std() < 0.03 * picture.std()


def test_known_pixels_stay_and_a_flat_picture_is_restored() -> None:
    picture, missing = _picture(40), _missing(40, 0.5, blobs=True)
    assert (impute(picture, missing)[:, ~missing] == picture[:, ~missing]).all()
    flat = np.full((1, 40, 40), 7.0, np.float32)
    assert impute(flat, missing, steps=400) == pytest.approx(flat, abs=1e-4)


@pytest.mark.slow
@pytest.mark.usefixtures("torchvision")  # the package imports it
def test_the_package_grad_cam_imputes_the_same() -> None:
    torch = pytest.importorskip("torch")
    package = pytest.importorskip("pytorch_grad_cam.metrics.road")
    picture, missing = _picture(48), _missing(48, 0.5, blobs=True)
    theirs = package.NoisyLinearImputer(noise=0)(torch.from_numpy(picture), torch.from_numpy(~missing * 1.0))
    assert impute(picture, missing, steps=400) == pytest.approx(theirs.numpy(), abs=2e-5)


@pytest.mark.slow
@pytest.mark.usefixtures("torchvision")
@pytest.mark.parametrize(("noise", "steps", "close"), [(0.0, 400, 1e-4), (0.01, 20, 0.01)])
def test_the_gain_is_that_of_the_package_grad_cam(
    noise: float, steps: int, close: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its ROADCombined, on the same network and levels: exactly, and with the noise and steps of both.

    Its noise has an absolute size, ours is in deviations of the picture, here 1; it solves the equations
    directly. It removes the pixels above a percentile, so no two of a map may be equal.
    """
    torch = pytest.importorskip("torch")
    theirs = pytest.importorskip("pytorch_grad_cam.metrics.road")
    model = small_cnn(seed=3)
    add_weights(model, w4=8 * take_weights(model, "w4"))
    session = InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    picture = 5 * _picture(64)
    picture /= picture.std()

    def chances(pictures: np.ndarray) -> np.ndarray:
        logits = np.concatenate([session.run(None, {"input": one[None]})[0] for one in pictures])
        return softmax(logits.astype(np.float64), axis=1)

    class Network(torch.nn.Module):
        def forward(self, pictures: torch.Tensor) -> torch.Tensor:
            return torch.from_numpy(chances(pictures.numpy()))

    target = int(chances(picture[None])[0].argmax())
    random = np.random.default_rng(0)
    smooth = cv2.GaussianBlur(random.random((64, 64)).astype(np.float32), (0, 0), 6)
    maps = {
        "smooth": smooth,
        "pixels": random.random((64, 64)),
        "edges": np.abs(np.diff(picture[0], prepend=0)),
    }
    ranks = {name: ranking(values) for name, values in maps.items()}
    monkeypatch.setattr(road, "NOISE", noise)
    monkeypatch.setattr(road, "impute", partial(impute, steps=steps))
    defaults = (noise, theirs.neighbors_weights)
    monkeypatch.setattr(theirs.NoisyLinearImputer.__init__, "__defaults__", defaults)
    torch.manual_seed(0)
    combined = theirs.ROADCombined(percentiles=[100 * (1 - level) for level in LEVELS])
    found = gains(picture, ranks, lambda versions: chances(np.array([*versions]))[:, target], seed=0)
    for name, rank in ranks.items():
        saliency = ((rank.size - rank) / rank.size).astype(np.float32)  # exact, and so is 1 − saliency
        score = combined(torch.from_numpy(picture[None]), saliency[None], [lambda p: p[target]], Network())
        assert found[name] == pytest.approx(float(score[0]), abs=close), name
    assert max(map(abs, found.values())) > 0.05


def test_the_gain_is_that_of_the_dense_solution() -> None:
    """A network that measures the roughness of the left half; only ROAD's noise may differ."""
    picture = _picture(24)

    def ask(versions: list[np.ndarray]) -> np.ndarray:
        return np.array([float(np.abs(np.diff(v[:, :, :12], axis=2)).mean()) for v in versions])

    left = np.zeros((24, 24), np.float32)
    left[:, :12] = 1
    ranks = ranking(left)
    by_hand = []
    for level in LEVELS:
        most, least = top(ranks, level), top(ranks.size - 1 - ranks, level)
        kept, lost = ask([_dense(picture, least), _dense(picture, most)])
        by_hand.append((kept - lost) / 2)
    found = gains(picture, {"left": ranks, "right": ranks.size - 1 - ranks}, ask, seed=0)
    assert np.mean(by_hand) > 0.005
    assert found["left"] == pytest.approx(np.mean(by_hand), rel=0.1)
    assert found["right"] == pytest.approx(-found["left"], rel=0.1)
