"""Exact shares of the most salient pixels."""

from __future__ import annotations

import numpy as np
import pytest
from fastcam_export.evaluate.measures.masks import ranking, top
from support.shared_data import shared


@pytest.mark.parametrize("share", [0.0, 0.025, 0.1, 0.5, 0.9, 1.0])
def test_exactly_the_asked_share_of_a_map_with_ties_is_taken(share: float) -> None:
    maps = np.random.default_rng(0).integers(0, 3, (4, 20, 30)).astype(np.float32)
    taken = top(ranking(maps), share)
    assert (taken.sum(axis=(1, 2)) == round(share * 600)).all()


def test_no_pixel_left_out_is_more_salient_than_one_taken() -> None:
    maps = np.random.default_rng(1).integers(0, 9, (3, 16, 16)).astype(np.float32)
    taken = top(ranking(maps), 0.3)
    for values, mask in zip(maps, taken, strict=True):
        assert values[mask].min() >= values[~mask].max()


def test_a_constant_map_takes_pixels_all_over_the_picture() -> None:
    taken = top(ranking(np.ones((64, 64), np.float32)), 0.25)
    quarters = [taken[:32, :32], taken[:32, 32:], taken[32:, :32], taken[32:, 32:]]
    assert all(0.2 < quarter.mean() < 0.3 for quarter in quarters)


def test_masks_are_those_of_the_papers_reference_code() -> None:
    golden = np.load(shared("golden/mask_kar.npz"))
    for share in (0.1, 0.3, 0.5, 0.9):
        ours, theirs = top(ranking(golden["sal"]), share), golden[f"mask_sal_{share}"] > 0
        # The reference keeps values strictly above a threshold: one pixel less than the share.
        assert (ours | theirs == ours).all()
        assert ours.sum() - theirs.sum() <= 1
