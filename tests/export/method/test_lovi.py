"""The LOVI picture against its formula and the standard library's colours, and against the reference."""

from __future__ import annotations

import numpy as np
import pytest
from fastcam_export.method.lovi import lovi
from hypothesis import given, settings
from hypothesis import strategies as st
from support.oracle import method
from support.paths import GOLDEN
from support.steps import OPSETS, run_step


def assert_same_picture(found: np.ndarray, expected: np.ndarray) -> None:
    """Equal up to the rounding of 0…255."""
    assert found.dtype == np.uint8
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= 0.501


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=6),
    st.integers(1, 2),
    st.integers(0, 10_000),
    st.booleans(),
)
def test_lovi_is_the_formula(sizes: list[tuple[int, int]], batch: int, seed: int, free: bool) -> None:
    rng = np.random.default_rng(seed)
    maps = [(rng.random((batch, *s)) * (rng.random((batch, *s)) < 0.7)).astype(np.float32) for s in sizes]
    if free:
        step = lovi(opset=17, sizes=[(None, None)] * len(sizes), size=(None, None))
        found = run_step(step, *maps, np.array([13, 10]), free=True)
    else:
        found = run_step(lovi(opset=17, sizes=sizes, size=(13, 10)), *maps)
    assert_same_picture(found, method.lovi(maps, 13, 10))


@pytest.mark.parametrize("opset", OPSETS)
def test_lovi_in_every_opset(opset: int) -> None:
    maps = [np.random.default_rng(k).random((1, 4, 5)).astype(np.float32) for k in range(3)]
    found = run_step(lovi(opset=opset, sizes=[(4, 5)] * 3, size=(4, 5)), *maps)
    assert_same_picture(found, method.lovi(maps, 4, 5))


def picture_of(*pixels: float) -> list[int]:
    maps = [np.full((1, 1, 1), value, np.float32) for value in pixels]
    step = lovi(opset=17, sizes=[(1, 1)] * len(maps), size=(1, 1))
    return run_step(step, *maps).ravel().tolist()


def test_colours_that_a_reader_relies_on() -> None:
    assert picture_of(1, 0, 0, 0, 0) == [255, 0, 255]  # the first scale alone: violet
    assert picture_of(0, 0, 0, 0, 1) == [255, 0, 0]  # the last alone: red
    assert picture_of(1, 1, 1, 1, 1) == [255, 255, 255]  # all agree: white
    assert picture_of(0, 0, 0, 0, 0) == [0, 0, 0]  # none: black
    assert picture_of(0.2) == [51, 51, 51]  # a single scale has no order: grey


@pytest.mark.parametrize("case", ["lovi_3maps", "lovi_5maps", "lovi_zero_pixel"])
def test_lovi_matches_the_reference(case: str) -> None:
    with np.load(GOLDEN / f"draw_{case}.npz", allow_pickle=False) as data:
        stack, bgr, hsv = data["stack"], data["lovi_bgr"], data["lovi_hsv"]
    # The reference normalises the whole stack first, and is undefined for a pixel that is 0 at all scales.
    q = (stack - stack.min()) / (stack.max() - stack.min())
    maps = [np.ascontiguousarray(q[None, :, :, k]) for k in range(q.shape[2])]
    lit = q.sum(axis=2) > 0
    np.testing.assert_allclose(method.lovi_hsv(np.stack(maps, axis=1))[0][lit], hsv[lit], rtol=0, atol=3e-4)
    size = q.shape[:2]
    found = run_step(lovi(opset=17, sizes=[size] * len(maps), size=size), *maps)[0]
    assert (found[~lit] == 0).all()
    assert np.abs(found[lit][:, ::-1] - 255.0 * bgr[lit]).max() <= 0.501
