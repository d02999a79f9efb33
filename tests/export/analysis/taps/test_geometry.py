"""Where the pixels are: layouts, computed sizes, and preprocessing in the graph."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from fastcam_export import Options
from fastcam_export.analysis.plan import plan
from fastcam_export.load import load
from fastcam_runtime.model import watching
from support.found_taps import found, taps_of
from support.networks import network, small_cnn


def test_nhwc_input_behind_a_transpose() -> None:
    model = small_cnn("float[1,64,64,3] picture")
    node = onnx.helper.make_node("Transpose", ["picture"], ["input"], perm=[0, 3, 1, 2])
    model.graph.node.insert(0, node)
    found_plan = plan(load(model), Options())
    assert found_plan.ends.layout == "NHWC"
    assert found_plan.ends.size == (64, 64)
    assert [tap.name for tap in found_plan.taps] == ["a1", "a2", "a3"]


@pytest.mark.parametrize(
    "copied", ["last = Identity (t)", "q = QuantizeLinear (t, s) last = DequantizeLinear (q, s)"]
)
def test_a_trailing_nhwc_copy_is_not_a_tap(copied: str) -> None:
    """Keras ends in Transpose → mean over the pixels: the transposed tensor has no channel axis 1."""
    model = small_cnn()
    nodes = [n for n in model.graph.node if n.op_type not in ("GlobalAveragePool", "Flatten")]
    nodes.insert(-1, onnx.helper.make_node("Transpose", ["a3"], ["t"], perm=[0, 2, 3, 1]))
    nodes[-1:-1] = onnx.parser.parse_graph(f"g (float t) => (float last) {{ {copied} }}").node
    nodes.insert(-1, onnx.helper.make_node("ReduceMean", ["last"], ["flat"], axes=[1, 2], keepdims=0))
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.float32(0.1), "s"))
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    assert found(model) == [("a1", 8, 32), ("a2", 12, 16), ("a3", 16, 8)]


@pytest.mark.parametrize("inputs", ["float[N,3,64,64] input", "float[N,3,H,W] input"])
def test_dynamic_dimensions(inputs: str) -> None:
    assert [tap.name for tap in taps_of(small_cnn(inputs))] == ["a1", "a2", "a3"]


GROUP_NORMALISATION = """
    rows = Reshape (c1, groups)
    {inside}
    back = Reshape (rows2, grid)
    z = Mul (back, scale)
    n = Add (z, scale)
"""


@pytest.mark.parametrize(
    ("inside", "kept"),
    [
        ("rows2 = InstanceNormalization (rows, two, two)", True),
        ("m = ReduceMean <axes=[2]> (rows) c = Sub (rows, m) q = Mul (c, c) v = ReduceMean <axes=[2]> (q)"
         " s = Sqrt (v) rows2 = Div (c, s)", True),
        ("h = Cast <to=10> (rows) rows2 = Cast <to=1> (h)", True),
        ("flat = Flatten (rows) rows2 = Identity (flat)", True),
        ("t = Transpose <perm=[0,2,1]> (rows) rows2 = Sigmoid (t)", False),
        ("rows2 = MatMul (square, rows)", False),
        ("m = ReduceMean <axes=[2]> (rows) rows2 = Sub (m, rows)", False),
    ],
    ids=["as torch exports it", "written out", "half precision", "flat", "other order", "mixed", "unknown"],
)  # fmt: skip
def test_a_group_normalisation_keeps_the_pixels_where_they_are(inside: str, kept: bool) -> None:
    """It reshapes N×C×H×W to N×groups×rest and back: the activation behind it is a scale."""
    body = f"""
        c1 = Conv <kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]> (input, w1)
        {GROUP_NORMALISATION.format(inside=inside)}
        a1 = Relu (n)
        c2 = Conv <kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]> (a1, w2)
        a2 = Relu (c2)
        pooled = GlobalAveragePool (a2)
        logits = Flatten (pooled)
    """
    model = network(
        body, groups=np.array([0, 2, -1]), grid=np.array([1, 8, 32, 32]), two=np.ones(2, np.float32),
        scale=np.ones((8, 1, 1), np.float32), square=np.eye(2, dtype=np.float32),
        w1=np.ones((8, 3, 3, 3), np.float32), w2=np.ones((10, 8, 3, 3), np.float32),
    )  # fmt: skip
    assert found(model) == [("a1", 8, 32)] * kept + [("a2", 10, 16)]


def test_shapes_hidden_behind_a_computed_pad_are_learnt_from_a_run() -> None:
    """The legacy exporter writes 'same' padding as arithmetic on shapes, where shape inference fails."""
    model = network(
        """
        shape = Shape (input)
        side = Gather (shape, two)
        rest = Mod (side, two)
        pad = Add (rest, one)
        zero = Sub (pad, pad)
        pads = Concat <axis=0> (zero, zero, zero, zero, zero, zero, pad, pad)
        padded = Pad (input, pads)
        c1 = Conv <kernel_shape=[3,3], strides=[2,2]> (padded, w1)
        a1 = Relu (c1)
        c2 = Conv <kernel_shape=[3,3], strides=[2,2]> (a1, w2)
        a2 = Relu (c2)
        pooled = GlobalAveragePool (a2)
        logits = Flatten (pooled)
        """,
        inputs="float[1,3,64,64] input", two=np.array([2]), one=np.array([1]),
        w1=np.ones((8, 3, 3, 3), np.float32), w2=np.ones((10, 8, 3, 3), np.float32),
    )  # fmt: skip
    assert found(model) == [("a1", 8, 32), ("a2", 10, 15)]


def test_learning_shapes_takes_no_more_memory_than_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """24 tensors of 17 MB, all of unknown shape: a run needs two of them at a time."""
    monkeypatch.setattr(watching, "run_bytes", lambda pixels: 200_000_000)
    chain = "".join(f"a{k + 1} = Relu (a{k})\n" for k in range(24))
    model = network(
        f"""
        shape = Shape (input)
        rest = Mod (shape, one)
        pads = Concat <axis=0> (rest, rest)
        padded = Pad (input, pads)
        a0 = Conv <kernel_shape=[1,1], strides=[2,2]> (padded, w)
        {chain}
        pooled = GlobalAveragePool (a24)
        logits = Flatten (pooled)
        """,
        inputs="float[1,3,1024,1024] input", one=np.array([1]), w=np.ones((16, 3, 1, 1), np.float32),
    )  # fmt: skip
    assert found(model) == [("a24", 16, 512)]


def test_shapes_behind_an_if_that_onnxruntime_replaces_by_a_branch() -> None:
    model = network(
        """
        shape = Shape (input)
        rest = Mod (shape, one)
        pads = Concat <axis=0> (rest, rest)
        padded = If <then_branch = yes () => (float[n,k,h,v] x) { x = Pad (input, pads) },
                     else_branch = no () => (float[n,k,h,v] y) { y = Identity (input) }> (flag)
        c = Conv <kernel_shape=[3,3], strides=[2,2]> (padded, w)
        a = Relu (c)
        pooled = GlobalAveragePool (a)
        logits = Flatten (pooled)
        """,
        one=np.array([1]), w=np.ones((10, 3, 3, 3), np.float32), flag=np.array([True]),
    )  # fmt: skip
    assert found(model) == [("a", 10, 31)]


def behind(preprocessing: str, **weights: np.ndarray) -> onnx.ModelProto:
    """One convolution `a` that reads `p`, which the nodes of `preprocessing` compute from the input."""
    return network(
        f"""
        {preprocessing}
        c = Conv <kernel_shape=[3,3], strides=[2,2]> (p, w)
        a = Relu (c)
        pooled = GlobalAveragePool (a)
        logits = Flatten (pooled)
        """,
        w=np.ones((10, 3, 3, 3), np.float32), **weights,
    )  # fmt: skip


@pytest.mark.parametrize(
    "preprocessing", ["p = Clip (input, low)", "p = Relu (input)", "p = Sigmoid (input)"]
)
def test_what_no_convolution_precedes_is_no_scale(preprocessing: str) -> None:
    model = behind(preprocessing, low=np.array(0, np.float32))
    assert [tap.name for tap in taps_of(model)] == ["a"]
    assert [tap.name for tap in taps_of(model, taps=["p", "a"])] == ["p", "a"]


@pytest.mark.parametrize(
    ("preprocessing", "cut"),
    [
        ("p = Slice (input, zero, sixteen, width)", "64×16"),
        ("p = Slice (input, zero, sixteen, height)", "16×64"),
        ("p = Slice (input, zero, sixty_four, width)", None),
        ("p = Slice (input, zero, sixty_four, width, two)", None),
        ("p = Identity (input)", None),
    ],
)
def test_a_picture_that_the_network_cuts_is_told(preprocessing: str, cut: str | None) -> None:
    model = behind(
        preprocessing, zero=np.array([0]), sixteen=np.array([16]), sixty_four=np.array([64]),
        width=np.array([3]), height=np.array([2]), two=np.array([2]),
    )  # fmt: skip
    notes = plan(load(model), Options()).notes
    assert len(notes) == (cut is not None)
    assert all(f"crops its input to {cut}:" in note for note in notes)
