"""Tensors of rank 4 that are not pictures, or show only a part of one: none of them is a scale."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from fastcam_export import GraftError, Options
from fastcam_export.analysis.plan import plan
from fastcam_export.load import load
from support.found_taps import found, taps_of
from support.networks import network

SHAPES = {
    "tokens": [1, 8, 64], "matrix": [1, 1, 64, 64], "grid": [1, 8, 8, 8], "rows": [1, 1, 64, 8],
    "patches": [1, 8, 4, 16], "windows": [16, 8, 2, 2],
}  # fmt: skip


def three_scales(middle: str) -> onnx.ModelProto:
    """Scales a1, a2 and a3 of 16, 8 and 4 pixels; between the last two, nodes that compute `y` from `a2`."""
    random = np.random.default_rng(0)

    def weight(*shape: int) -> np.ndarray:
        return (random.standard_normal(shape) / 4).astype(np.float32)

    return network(
        f"""
        c1 = Conv <kernel_shape=[3,3], strides=[4,4], pads=[1,1,1,1]> (input, w1)
        a1 = Relu (c1)
        c2 = Conv <kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]> (a1, w)
        a2 = Relu (c2)
        {middle}
        c3 = Conv <kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]> (y, w)
        a3 = Relu (c3)
        pooled = GlobalAveragePool (a3)
        flat = Flatten (pooled)
        logits = Gemm <transB=1> (flat, w4)
        """,
        w1=weight(8, 3, 3, 3), w=weight(8, 8, 3, 3), w4=weight(10, 8), heads=weight(2, 1, 1, 1),
        merge=weight(1, 2, 1, 1), point=weight(8, 8, 1, 1),
        **{name: np.array(dims) for name, dims in SHAPES.items()},
    )  # fmt: skip


SCALES = [("a1", 8, 16), ("a2", 8, 8), ("a3", 8, 4)]
TALKING_HEADS = """
    h = Conv <kernel_shape=[1,1]> (m, heads)
    s = Softmax <axis=3> (h)
    mixed = Conv <kernel_shape=[1,1]> (s, merge)
"""


@pytest.mark.parametrize(
    "middle",
    [
        f"""
        v4 = Reshape (a2, rows)
        k4 = Transpose <perm=[0,1,3,2]> (v4)
        m = MatMul (v4, k4)
        {TALKING_HEADS}
        o = MatMul (mixed, v4)
        y = Reshape (o, grid)
        """,
        f"""
        k = Reshape (a2, tokens)
        v = Transpose <perm=[0,2,1]> (k)
        m3 = MatMul (v, k)
        m = Reshape (m3, matrix)
        {TALKING_HEADS}
        v4 = Reshape (v, rows)
        o = MatMul (mixed, v4)
        y = Reshape (o, grid)
        """,
        f"""
        v4 = Reshape (a2, rows)
        m = Einsum <equation="nhic,nhjc->nhij"> (v4, v4)
        {TALKING_HEADS}
        o = MatMul (mixed, v4)
        y = Reshape (o, grid)
        """,
    ],
    ids=["rank 4", "rank 3", "einsum"],
)
def test_an_attention_matrix_that_convolutions_read(middle: str) -> None:
    """EfficientFormerV2 mixes the heads of its attention, positions × positions, by convolutions."""
    assert found(three_scales(middle)) == SCALES


def test_rows_of_features_behind_attention_are_a_picture_again() -> None:
    """The layout is known again at the convolution that reads them, so its activation ends a scale."""
    middle = """
        k = Reshape (a2, tokens)
        v = Transpose <perm=[0,2,1]> (k)
        m = MatMul (v, k)
        s = Softmax <axis=2> (m)
        o = MatMul (s, v)
        back = Transpose <perm=[0,2,1]> (o)
        g = Reshape (back, grid)
        p = Conv <kernel_shape=[1,1]> (g, point)
        y = Relu (p)
    """
    assert found(three_scales(middle)) == [("a1", 8, 16), ("y", 8, 8), ("a3", 8, 4)]


@pytest.mark.parametrize(
    "middle",
    [
        """
        t = Reshape (a2, patches)
        p = Conv <kernel_shape=[1,1]> (t, point)
        r = Relu (p)
        y = Reshape (r, grid)
        """,
        """
        t = Reshape (a2, windows)
        p = Conv <kernel_shape=[1,1]> (t, point)
        r = Relu (p)
        y = Reshape (r, grid)
        """,
        """
        t = Transpose <perm=[0,2,1,3]> (a2)
        p = Conv <kernel_shape=[1,1]> (t, point)
        r = Relu (p)
        y = Transpose <perm=[0,2,1,3]> (r)
        """,
    ],
    ids=["patches × positions", "windows", "rows as channels"],
)
def test_axes_that_are_not_the_pictures(middle: str) -> None:
    """MobileViTv2 convolves patches × positions; others windows, or the axes in another order."""
    assert found(three_scales(middle)) == SCALES


@pytest.mark.slow
def test_a_normalisation_across_channels_written_out() -> None:
    """As torch exports it, with a pooling of N×1×C×H×W for the divisor."""
    torch = pytest.importorskip("torch")
    layers = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, 2, 1), torch.nn.ReLU(), torch.nn.LocalResponseNorm(5, 0.3),
        torch.nn.Conv2d(8, 24, 3, 2, 1), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
    )  # fmt: skip
    taps = plan(load(layers.eval(), example=torch.zeros(1, 3, 64, 64)), Options()).taps
    assert [tap.shape for tap in taps] == [(1, 8, 32, 32), (1, 24, 16, 16)]


def cut_head(head: str) -> onnx.ModelProto:
    """Scales a1 and a2 of 16×24 and 8×12 pixels, and a head that computes vectors `v` from `a2`."""
    return network(
        f"""
        c1 = Conv <kernel_shape=[3,3], strides=[4,4], pads=[1,1,1,1]> (input, w1)
        a1 = Relu (c1)
        c2 = Conv <kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]> (a1, w)
        a2 = Relu (c2)
        {head}
        flat = Flatten (v)
        logits = Gemm <transB=1> (flat, w4)
        """,
        inputs="float[1,3,64,96] input",
        w1=np.ones((8, 3, 3, 3), np.float32), w=np.ones((8, 8, 3, 3), np.float32),
        point=np.ones((8, 8, 1, 1), np.float32), w4=np.ones((10, 8), np.float32),
        zero=np.array([0]), one=np.array([1]), two=np.array([2]), four=np.array([4]), end=np.array([2**31]),
        rows=np.array([2]), columns=np.array([3]), both=np.array([2, 3]), starts=np.array([0, 1]),
        ends=np.array([2**31, 2**31]), steps=np.array([2, 3]), row=np.array(-3), column=np.array(5),
        some=np.array([1, 2, 3]), negative=np.array([0, 0, -4, 0, 0, 0, 0, 0]),
    )  # fmt: skip


HEADS = {
    "a half": "k = Slice (a2, four, end, rows) v = GlobalAveragePool (k)",
    "one of two halves": "k, rest = Split <axis=2> (a2, halves) t = Add (k, rest) v = GlobalAveragePool (t)",
    "a pixel": "line = Gather <axis=2> (a2, row) v = Gather <axis=2> (line, column)",
    "some rows": "k = Gather <axis=2> (a2, some) v = GlobalAveragePool (k)",
    "negative padding": "k = Pad (a2, negative) v = GlobalAveragePool (k)",
    "a convolved half": """
        k = Slice (a2, four, end, rows)
        p = Conv <kernel_shape=[1,1]> (k, point)
        r = Relu (p)
        v = GlobalAveragePool (r)
    """,
    "a half, enlarged": """
        k = Slice (a2, four, end, rows)
        r = Resize <mode="nearest"> (k, , scales)
        v = GlobalAveragePool (r)
    """,
    "every second row, every third column": """
        k = Slice (a2, starts, ends, both, steps)
        v = GlobalAveragePool (k)
    """,
}


@pytest.mark.parametrize("head", HEADS)
def test_a_part_of_the_picture_is_no_scale(head: str) -> None:
    """Its map would be stretched over the whole picture."""
    model = cut_head(HEADS[head])
    for name, array in (("halves", np.array([4, 4])), ("scales", np.array([1, 1, 2, 1], np.float32))):
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    assert found(model) == [("a1", 8, 16), ("a2", 8, 8)]


def test_a_part_of_the_picture_cannot_be_named() -> None:
    with pytest.raises(GraftError, match=r"'r' cannot be tapped: .* of the whole picture"):
        taps_of(cut_head(HEADS["a convolved half"]), taps="a1,r")


@pytest.mark.parametrize(
    "head",
    [
        "k = Slice (a2, one, end, rows) p = Conv <kernel_shape=[1,1]> (k, point)",
        """
        high = Slice (a2, four, end, rows)
        low = Slice (a2, zero, four, rows)
        whole = Concat <axis=2> (high, low)
        p = Conv <kernel_shape=[1,1]> (whole, point)
        """,
        """
        high, low = Split <axis=2, num_outputs=2> (a2)
        ch = Conv <kernel_shape=[1,1]> (high, point)
        cl = Conv <kernel_shape=[1,1]> (low, point)
        p = Concat <axis=2> (ch, cl)
        """,
    ],
    ids=["a row less", "rolled", "halves put together again"],
)
def test_what_is_left_or_put_together_is_the_whole_picture(head: str) -> None:
    model = cut_head(f"{head} r = Relu (p) v = GlobalAveragePool (r)")
    model.opset_import[0].version = 18
    assert [name for name, _, _ in found(model)] == ["a1", "r"]


def test_padding_may_be_cut_off_again() -> None:
    model = cut_head(
        """
        padded = Pad (a2, more)
        k = Slice (padded, zero, eight, rows)
        p = Conv <kernel_shape=[1,1]> (k, point)
        r = Relu (p)
        v = GlobalAveragePool (r)
        """
    )
    for name, array in (("more", np.array([0, 0, 0, 0, 0, 0, 4, 0])), ("eight", np.array([8]))):
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    assert found(model) == [("a1", 8, 16), ("r", 8, 8)]


def test_every_second_pixel_is_a_scale_where_convolutions_follow() -> None:
    """Like a pooling: the only tensor of that scale, before its convolutions."""
    model = cut_head(
        """
        k = Slice (a2, zeros, ends, both, twice)
        p = Conv <kernel_shape=[1,1]> (k, point)
        v = GlobalAveragePool (p)
        """
    )
    for name, array in (("zeros", np.array([0, 0])), ("twice", np.array([2, 2]))):
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    assert found(model) == [("a1", 8, 16), ("a2", 8, 8), ("k", 8, 4)]
