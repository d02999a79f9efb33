"""Which tensors count as activated, whether they can be negative, and their upper bounds."""

from __future__ import annotations

import numpy as np
import pytest
from support.found_taps import taps_of
from support.networks import network


@pytest.mark.parametrize(
    ("activation", "nonnegative", "bound"),
    [
        ("a = Relu (c)", True, None),
        ("a = Clip (c, low, high)", True, 6.0),
        ("k = Clip (c, low, high) a = Identity (k)", True, 6.0),
        ("a = Clip (c, low)", True, None),
        ("k = Clip (c, low, high) a = Mul (k, high)", True, None),
        ("a = Sigmoid (c)", True, 1.0),
        ("s = Sigmoid (c) a = Mul (c, s)", False, None),
        ("h = HardSigmoid (c) a = Mul (c, h)", False, None),
        ("t = Add (c, three) u = Clip (t, low, high) v = Mul (c, u) a = Div (v, high)", False, None),
        ("a = Max (c, low)", True, None),
        ("r = Relu (c) a = Min (r, high)", True, 6.0),
        ("k = Clip (c, low, high) a = Min (k, three)", True, 3.0),
        ("l = LeakyRelu (c) a = Min (l, high)", False, None),
        ("a = ThresholdedRelu (c)", True, None),
        ("a = LeakyRelu (c)", False, None),
        ("r = Relu (c) a = LRN <size=3> (r)", True, None),
        ("r = Relu (c) a = LRN <size=3, bias=-1.0> (r)", False, None),
        ('r = Relu (c) a = Resize <mode="linear"> (r, , same)', True, None),
        ('r = Relu (c) a = Resize <mode="cubic"> (r, , same)', False, None),
        ("a = HardSwish (c)", False, None),
        ("t = Div (c, root) e = Erf (t) p = Add (e, unit) m = Mul (c, p) a = Mul (m, half)", False, None),
    ],
)
def test_activations_written_out_in_small_operators_are_recognised(
    activation: str, nonnegative: bool, bound: float | None
) -> None:
    model = network(
        f"""
        c = Conv <kernel_shape=[3,3], strides=[2,2]> (input, w)
        {activation}
        c2 = Conv <kernel_shape=[3,3], strides=[2,2]> (a, w2)
        pooled = GlobalAveragePool (c2)
        logits = Flatten (pooled)
        """,
        w=np.ones((8, 3, 3, 3), np.float32), w2=np.ones((10, 8, 3, 3), np.float32),
        low=np.array(0, np.float32), high=np.array(6, np.float32), three=np.array(3, np.float32),
        root=np.array(1.4142, np.float32), unit=np.array(1, np.float32), half=np.array(0.5, np.float32),
        same=np.ones(4, np.float32),
    )  # fmt: skip
    (tap,) = taps_of(model)
    assert (tap.name, tap.nonnegative, tap.bound) == ("a", nonnegative, bound)


@pytest.mark.parametrize(("dtype", "nonnegative"), [(2, True), (3, False), (4, True)])
def test_the_type_of_a_quantised_tensor_without_a_zero_point(dtype: int, nonnegative: bool) -> None:
    model = network(
        f"""
        c = Conv <kernel_shape=[3,3], strides=[2,2]> (input, w)
        l = LeakyRelu (c)
        q = QuantizeLinear <output_dtype={dtype}> (l, scale)
        a = DequantizeLinear (q, scale)
        pooled = GlobalAveragePool (a)
        logits = Flatten (pooled)
        """,
        opset=21, w=np.ones((10, 3, 3, 3), np.float32), scale=np.array(0.1, np.float32),
    )  # fmt: skip
    (tap,) = taps_of(model)
    assert (tap.name, tap.nonnegative) == ("a", nonnegative)
