"""Insertion, deletion and average drop, against an independent implementation on a known network."""

from __future__ import annotations

import numpy as np
import pytest
from fastcam_export.evaluate.measures.baselines import blurred, mean_colour
from fastcam_export.evaluate.measures.masks import ranking
from fastcam_export.evaluate.measures.perturbation import LEVELS, area, curves, drops

SIZE = 20


def _weights() -> np.ndarray:
    """The network: the probability is the share of this weight that is lit."""
    weights = np.zeros((SIZE, SIZE))
    weights[5:10, 5:15] = 1 / 50
    return weights


def _ask(versions: list[np.ndarray]) -> np.ndarray:
    return np.array([float((_weights() * version[0]).sum()) for version in versions])


def _slow_curve(order: list[int], start: np.ndarray, end: np.ndarray) -> list[float]:
    """Pixel by pixel, in the order of the map."""
    found = []
    for level in LEVELS:
        picture = start.copy()
        for pixel in order[: round(level * SIZE * SIZE)]:
            row, column = divmod(pixel, SIZE)
            picture[:, row, column] = end[:, row, column]
        found.append(float((_weights() * picture[0]).sum()))
    return found


def test_curves_are_those_of_pixels_changed_one_by_one() -> None:
    random = np.random.default_rng(3)
    picture = random.random((3, SIZE, SIZE)).astype(np.float32)
    saliency = random.random((SIZE, SIZE)).astype(np.float32)
    baseline = blurred(picture)
    order = np.argsort(-saliency.ravel()).tolist()
    insertion, deletion = curves(picture, baseline, {"map": ranking(saliency)}, _ask)["map"]
    assert insertion == pytest.approx(_slow_curve(order, baseline, picture), abs=1e-6)
    assert deletion == pytest.approx(_slow_curve(order, picture, baseline), abs=1e-6)


def test_the_perfect_map_has_the_areas_that_follow_by_hand() -> None:
    picture, black = np.ones((1, SIZE, SIZE), np.float32), np.zeros((1, SIZE, SIZE), np.float32)
    perfect = _weights().astype(np.float32)
    insertion, deletion = curves(picture, black, {"map": ranking(perfect)}, _ask)["map"]
    # 50 of the 400 pixels have all the weight: at 10 % 40 of them are inserted, from 25 % on all.
    assert insertion == pytest.approx([0, 0.8, 1, 1, 1, 1])
    assert deletion == pytest.approx([1, 0.2, 0, 0, 0, 0])
    assert area(insertion) == pytest.approx(0.1 * 0.4 + 0.15 * 0.9 + 0.75)
    assert area(deletion) == pytest.approx(0.1 * 0.6 + 0.15 * 0.1)


def test_drop_and_increase_by_hand() -> None:
    picture = np.ones((1, SIZE, SIZE), np.float32)
    black = np.zeros_like(picture)
    nothing = np.zeros((SIZE, SIZE), np.float32)
    nothing[0, 0] = 1  # the map is stretched to 0…1, so it must not be constant
    half = np.where(np.arange(SIZE)[None] < 10, 4, 2).repeat(SIZE, axis=0).astype(np.float32)
    found = drops(picture, black, {"nothing": nothing, "half": half}, _ask, 1.0)
    assert found["nothing"] == pytest.approx((1.0, 0.0))
    assert found["half"] == pytest.approx((0.5, 0.0))
    assert drops(picture, black, {"half": half}, _ask, 0.25)["half"] == (0.0, 1.0)


def test_baselines_keep_the_mean_colour() -> None:
    picture = np.random.default_rng(0).random((3, 32, 48)).astype(np.float32)
    assert mean_colour(picture).std(axis=(1, 2)) == pytest.approx(0, abs=1e-6)
    for baseline in (blurred(picture), mean_colour(picture)):
        assert baseline.mean(axis=(1, 2)) == pytest.approx(picture.mean(axis=(1, 2)), abs=0.03)
    assert blurred(picture).std() < picture.std() / 4
