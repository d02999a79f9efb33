"""Regions of maps, against squares that were drawn."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from fastcam_runtime import FastcamError, Geometry, regions, share_inside


def squares(size: tuple[int, int], *drawn: tuple[int, int, int, int, float]) -> np.ndarray:
    """A map that is 0 except in rectangles of one value: left, top, width, height, value."""
    saliency = np.zeros(size, np.float32)
    for x, y, width, height, value in drawn:
        saliency[y : y + height, x : x + width] = value
    return saliency


def test_two_squares_the_stronger_first() -> None:
    found = regions(squares((100, 200), (10, 20, 30, 20, 0.5), (120, 50, 40, 20, 1.0)))
    assert [region.box for region in found] == [(120, 50, 40, 20), (10, 20, 30, 20)]
    assert [region.share for region in found] == pytest.approx([800 / 1100, 300 / 1100])


@pytest.mark.parametrize("share", [0.01, 0.05, 0.1, 0.5])
def test_a_plateau_is_never_cut(share: float) -> None:
    """Pixels that equal the weakest of the share are included: a square of any size is found whole."""
    (region,) = regions(squares((80, 80), (5, 6, 20, 30, 1.0)), share)
    assert region.box == (5, 6, 20, 30)


def test_share_is_a_part_of_the_pixels() -> None:
    ramp = np.tile(np.arange(200, dtype=np.float32), (50, 1))
    (region,) = regions(ramp, 0.25)
    assert region.box == (150, 0, 50, 50)
    assert region.share == pytest.approx(ramp[:, 150:].sum() / ramp.sum())


def test_nothing_stands_out() -> None:
    for level in (0.0, 0.4, 1.0):
        assert regions(np.full((50, 60), level, np.float32)) == ()


def test_specks_are_left_out() -> None:
    found = regions(squares((100, 100), (20, 20, 20, 20, 1.0), (80, 80, 2, 2, 1.0)))
    assert [region.box for region in found] == [(20, 20, 20, 20)]


@pytest.mark.parametrize("resize", ["stretch", "crop", "letterbox"])
def test_boxes_are_in_the_pixels_of_the_frame(resize: str) -> None:
    """A square in the frame is found at its position after preprocessing."""
    box = (250, 120, 160, 96)
    frame = squares((480, 640), (*box, 1.0))
    geometry = Geometry.lay((480, 640), (224, 224), resize)
    seen, placed = geometry.seen, geometry.placed
    tensor = np.zeros((224, 224), np.float32)
    placed.of(tensor)[:] = cv2.resize(
        seen.of(frame), (placed.width, placed.height), interpolation=cv2.INTER_AREA
    )
    (region,) = regions(tensor, 0.05, geometry)
    pixel = max(seen.width / placed.width, seen.height / placed.height)
    np.testing.assert_allclose(region.box, box, atol=2 * pixel)
    assert 0.95 < share_inside(tensor, box, geometry) <= 1


def test_the_contour_surrounds_the_region() -> None:
    y, x = np.mgrid[:200, :300]
    disc = np.exp(-(((x - 140) / 40) ** 2) - ((y - 90) / 30) ** 2).astype(np.float32)
    (region,) = regions(disc, 0.1)
    inside = cv2.drawContours(np.zeros((200, 300), np.uint8), [region.contour], -1, 1, cv2.FILLED)
    strong = disc >= np.sort(disc, axis=None)[-6000]
    assert (inside.astype(bool) != strong).mean() < 1e-3
    assert region.contour.dtype == np.int32


def test_share_inside_counts_parts_of_pixels() -> None:
    saliency = np.random.default_rng(0).random((30, 40)).astype(np.float32)
    finer = saliency.astype(np.float64).repeat(10, 0).repeat(10, 1)
    expected = finer[55:171, 33:218].sum() / finer.sum()
    assert share_inside(saliency, (3.3, 5.5, 18.5, 11.6)) == pytest.approx(expected)
    assert share_inside(saliency, (-5, -5, 100, 100)) == pytest.approx(1)
    assert share_inside(saliency, (50, 0, 10, 10)) == 0
    assert share_inside(np.zeros((5, 5), np.float32), (0, 0, 5, 5)) == 0


def test_refusals() -> None:
    with pytest.raises(FastcamError, match=r"share is 1\.5, not between 0 and 1"):
        regions(np.zeros((4, 4), np.float32), 1.5)
    with pytest.raises(FastcamError, match="LOVI has colours"):
        regions(np.zeros((4, 4, 3), np.uint8))
