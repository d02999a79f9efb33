"""Control maps, which do not depend on the network."""

from __future__ import annotations

import numpy as np
import pytest
from fastcam_export.evaluate.controls import CONTROLS
from fastcam_export.evaluate.measures.agreement import rank_correlation


def _picture() -> np.ndarray:
    picture = np.full((60, 90, 3), 40, np.uint8)
    picture[10:25, 60:80] = 220
    return picture


@pytest.mark.parametrize("name", CONTROLS)
def test_controls_are_maps_of_0_to_1_that_repeat(name: str) -> None:
    make = CONTROLS[name]
    found = make(_picture(), 5)
    assert found.shape == (60, 90)
    assert found.dtype == np.float32
    assert 0 <= found.min() < found.max() <= 1
    assert (found == make(_picture(), 5)).all()


def test_another_seed_changes_what_is_random_only() -> None:
    changed = {name for name, make in CONTROLS.items() if (make(_picture(), 1) != make(_picture(), 2)).any()}
    assert changed == {"random", "blobs"}


def test_each_control_is_high_where_its_name_says() -> None:
    centre, edges, both = (CONTROLS[name](_picture(), 0) for name in ("centre", "Sobel", "edges × centre"))
    assert np.unravel_index(centre.argmax(), centre.shape) in [(r, c) for r in (29, 30) for c in (44, 45)]
    row, column = np.unravel_index(edges.argmax(), edges.shape)
    assert 8 <= row <= 27
    assert 57 <= column <= 83
    assert both.argmax() != centre.argmax()


def test_blobs_are_smooth_and_random_pixels_are_not() -> None:
    smooth, rough = (CONTROLS[name](_picture(), 0) for name in ("blobs", "random"))
    assert rank_correlation(smooth[:, 1:], smooth[:, :-1]) > 0.98
    assert abs(rank_correlation(rough[:, 1:], rough[:, :-1])) < 0.1


def test_blobs_are_alike_everywhere() -> None:
    shape = (48, 64)
    maps = [CONTROLS["blobs"](np.zeros((*shape, 3), np.uint8), seed) for seed in range(400)]
    peaks = np.array([np.unravel_index(each.argmax(), shape) for each in maps]) / shape
    inside = ((peaks >= 0.25) & (peaks < 0.75)).all(axis=1).mean()
    assert inside == pytest.approx(0.25, abs=0.08)  # four standard errors; reflected borders gave 0.03
    spread = np.std(maps, axis=0)
    assert spread.max() < 1.4 * spread.min()


def test_a_gray_picture_has_the_edges_of_the_same_in_colour() -> None:
    assert CONTROLS["Sobel"](_picture(), 0) == pytest.approx(
        CONTROLS["Sobel"](_picture()[..., 0], 0), abs=0.02
    )
