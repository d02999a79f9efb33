"""Bilinear upsampling and the weighted combination, against float64 and against torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from fastcam_export.method.bilinear import upsample
from fastcam_export.method.combine import combine
from hypothesis import given, settings
from hypothesis import strategies as st
from support.oracle import method
from support.steps import OPSETS, run_step, step_model

lengths = st.integers(1, 23)


def maps_of(sizes: list[tuple[int, int]], batch: int = 2, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.random((batch, *size)).astype(np.float32) for size in sizes]


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(lengths, lengths, lengths, lengths, st.integers(0, 99))
def test_upsample_is_bilinear_interpolation(h: int, w: int, height: int, width: int, seed: int) -> None:
    (m,) = maps_of([(h, w)], seed=seed)
    found = run_step(upsample(opset=17, size_from=(h, w), size_to=(height, width)), m)
    np.testing.assert_allclose(found, method.bilinear(m, height, width), rtol=0, atol=1e-6)
    free = run_step(
        upsample(opset=17, size_from=(h, None), size_to=(height, width)),
        m,
        np.array([height, width]),
        free=True,
    )
    np.testing.assert_allclose(free, method.bilinear(m, height, width), rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("size", "size_to"), [((7, 7), (224, 224)), ((149, 211), (640, 427)), ((30, 22), (13, 19))]
)
def test_upsample_is_what_torch_does(size: tuple[int, int], size_to: tuple[int, int]) -> None:
    (m,) = maps_of([size])
    expected = torch.nn.functional.interpolate(
        torch.from_numpy(m)[:, None].double(), size=size_to, mode="bilinear", align_corners=False
    )[:, 0].numpy()
    found = run_step(upsample(opset=17, size_from=size, size_to=size_to), m)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(lengths, lengths, st.floats(0.01, 10)), min_size=1, max_size=5),
    lengths,
    lengths,
    st.integers(1, 3),
)
def test_combine_is_the_weighted_mean(
    scales: list[tuple[int, int, float]], height: int, width: int, batch: int
) -> None:
    sizes = [(h, w) for h, w, _ in scales]
    weights = [weight for *_, weight in scales]
    maps = maps_of(sizes, batch)
    expected = method.combine(maps, weights, height, width)
    found = run_step(combine(opset=17, sizes=sizes, size=(height, width), weights=weights), *maps)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    assert found.max() <= 1


@pytest.mark.parametrize("opset", OPSETS)
def test_combine_with_free_sizes_in_every_opset(opset: int) -> None:
    sizes, weights = [(9, 13), (5, 7), (1, 2)], [1, 2, 0.5]
    maps = maps_of(sizes)
    expected = method.combine(maps, weights, 18, 26)
    free = combine(opset=opset, sizes=[(None, None)] * 3, size=(None, 26), weights=weights)
    found = run_step(free, *maps, np.array([18, 26]), free=True)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    fixed = combine(opset=opset, sizes=sizes, size=(18, 26), weights=weights)
    np.testing.assert_allclose(run_step(fixed, *maps), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("size", [(224, 224), (59, 90), (227, 61), (299, 299), (40, 41), (97, 1)])
@pytest.mark.parametrize("opset", [13, 21])
def test_combine_in_bands_of_rows(size: tuple[int, int], opset: int) -> None:
    sizes = [(-(-size[0] // f), -(-size[1] // f)) for f in (2, 4, 8, 16, 32)]
    maps = maps_of(sizes, batch=3)
    weights = [0.18, 0.15, 0.37, 0.4, 0.72]
    found = run_step(combine(opset=opset, sizes=sizes, size=size, weights=weights), *maps)
    np.testing.assert_allclose(found, method.combine(maps, weights, *size), rtol=0, atol=1e-6)


def test_combine_keeps_a_free_batch() -> None:
    sizes = [(20, 30), (5, 8)]
    maps = maps_of(sizes, batch=2)
    step = combine(opset=17, sizes=sizes, size=(40, 60), weights=[1, 2])
    found = run_step(step, *maps, free=True)
    np.testing.assert_allclose(found, method.combine(maps, [1, 2], 40, 60), rtol=0, atol=1e-6)


def test_a_combination_adds_less_than_100_kilobytes() -> None:
    sizes = [(s, s) for s in (112, 56, 28, 14, 7)]
    step = combine(opset=17, sizes=sizes, size=(224, 224), weights=[1] * 5)
    assert len(step_model(step, *maps_of(sizes))) < 100_000
