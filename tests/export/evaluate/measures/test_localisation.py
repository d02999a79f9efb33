"""Pointing game, energy and pixel AUC on drawn squares."""

from __future__ import annotations

import numpy as np
import pytest
from fastcam_export.evaluate.marks import NOTHING, OBJECT, UNKNOWN
from fastcam_export.evaluate.measures.localisation import (
    energy_inside,
    located,
    on_input,
    pixel_auc,
    pointing,
)
from fastcam_export.evaluate.measures.masks import ranking
from fastcam_runtime.image import Geometry


def _square(size: int, top: int, left: int, side: int) -> np.ndarray:
    drawn = np.zeros((size, size), bool)
    drawn[top : top + side, left : left + side] = True
    return drawn


def test_a_map_of_the_square_hits_it_and_one_beside_misses() -> None:
    marked = _square(32, 4, 6, 8)
    on, beside = (_square(32, 4, left, 8).astype(np.float32) for left in (6, 20))
    assert (pointing(on, marked), energy_inside(on, marked)) == (1.0, 1.0)
    assert (pointing(beside, marked), energy_inside(beside, marked)) == (0.0, 0.0)
    half = _square(32, 4, 10, 8).astype(np.float32)
    assert (pointing(half, marked), energy_inside(half, marked)) == (0.5, 0.5)


def test_pixel_auc_is_the_share_of_pairs_in_the_right_order() -> None:
    random = np.random.default_rng(0)
    saliency, marked = random.random((12, 12)).astype(np.float32), _square(12, 2, 3, 5)
    pairs = [a > b for a in saliency[marked] for b in saliency[~marked]]
    assert pixel_auc(ranking(saliency), marked) == pytest.approx(np.mean(pairs))
    assert pixel_auc(ranking(marked.astype(np.float32)), marked) == 1.0


def test_letterbox_bars_count_nowhere_and_what_a_crop_cuts_off_is_not_marked() -> None:
    upper = np.full((100, 50), NOTHING, np.uint8)
    upper[:50] = OBJECT
    boxed = on_input(upper, Geometry.lay((100, 50), (40, 40), "letterbox"))
    assert (boxed[:20, 10:30] == OBJECT).all()
    assert (boxed[20:, 10:30] == NOTHING).all()
    assert (boxed[:, :10] == UNKNOWN).all()
    assert (boxed[:, 30:] == UNKNOWN).all()
    saliency = np.random.default_rng(2).random((40, 40)).astype(np.float32)
    high = np.where(boxed == UNKNOWN, 9, saliency).astype(np.float32)
    assert located(high, boxed) == located(saliency, boxed)
    edge = np.full((100, 50), NOTHING, np.uint8)
    edge[:20] = OBJECT
    assert not on_input(edge, Geometry.lay((100, 50), (40, 40), "crop")).any()


def test_pixels_that_the_annotation_leaves_open_count_nowhere() -> None:
    random = np.random.default_rng(1)
    saliency, marks = random.random((12, 12)).astype(np.float32), np.full((12, 12), NOTHING, np.uint8)
    marks[2:8, 3:8] = UNKNOWN
    marks[3:7, 4:7] = OBJECT
    saliency[2, 3] = 9  # the maximum, on the border
    known = [(float(s), m == OBJECT) for s, m in zip(saliency.flat, marks.flat, strict=True) if m != UNKNOWN]
    inside, outside = ([s for s, on in known if on == want] for want in (True, False))
    found = located(saliency, marks)
    assert found["pointing"] == max(known)[1]
    assert found["energy"] == pytest.approx(sum(inside) / (sum(inside) + sum(outside)), rel=1e-5)
    assert found["pixel_auc"] == pytest.approx(np.mean([a > b for a in inside for b in outside]))


@pytest.mark.parametrize("value", [OBJECT, NOTHING, UNKNOWN])
def test_a_picture_without_anything_to_tell_apart_has_no_figures(value: int) -> None:
    assert located(np.eye(5, dtype=np.float32), np.full((5, 5), value, np.uint8)) == {}
