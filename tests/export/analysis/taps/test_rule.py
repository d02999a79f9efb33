"""The rule on small networks: dominators, fallbacks, names given by the user, and what is refused."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from fastcam_export import GraftError
from support.found_taps import found, taps_of
from support.networks import network, residual_net, small_cnn


def test_an_inner_relu_that_the_shortcut_bypasses_is_not_taken() -> None:
    taps = taps_of(residual_net())
    assert [tap.name for tap in taps] == ["end", "last"]
    assert "inner (Relu): bypassed by another path" in taps[0].rejected


def test_an_mlp_is_refused() -> None:
    model = network("flat = Flatten (input) hidden = MatMul (flat, w) logits = Relu (hidden)",
                    w=np.ones((3 * 64 * 64, 10), np.float32))  # fmt: skip
    with pytest.raises(GraftError, match="no usable scale"):
        taps_of(model)


def test_layers_behind_a_sequence_are_refused_with_a_way_out() -> None:
    """torch 2.1 and 2.2 wrote concatenations as sequences, and choices as If."""
    model = network(
        """
        parts = SequenceConstruct (input, input)
        both = ConcatFromSequence <axis=1> (parts)
        flat = Flatten (both)
        logits = MatMul (flat, w)
        """,
        w=np.ones((6 * 64 * 64, 10), np.float32),
    )
    with pytest.raises(GraftError, match="ConcatFromSequence may hide its layers: simplify the file first"):
        taps_of(model)


def test_a_network_of_integer_operators_is_refused_with_a_way_out() -> None:
    model = network(
        """
        q = QuantizeLinear (input, s, z)
        c = QLinearConv <kernel_shape=[3,3], strides=[2,2]> (q, s, z, w, s, wz, s, z)
        d = DequantizeLinear (c, s, z)
        pooled = GlobalAveragePool (d)
        logits = Flatten (pooled)
        """,
        s=np.float32(0.1), z=np.uint8(0), w=np.ones((10, 3, 3, 3), np.int8), wz=np.int8(0),
    )  # fmt: skip
    with pytest.raises(GraftError, match="QLinearConv computes integers: quantise in the QDQ format"):
        taps_of(model)


def test_a_model_without_an_image_is_refused_with_its_inputs() -> None:
    model = network("logits = Relu (x)", inputs="float[1,10] x", output="float[1,10] logits")
    with pytest.raises(GraftError, match=r"no image input.*'x' 1×10"):
        taps_of(model)


def test_a_quantised_graph_is_tapped_behind_dequantisation() -> None:
    model = network(
        """
        c1 = Conv <kernel_shape=[3,3], strides=[2,2]> (input, w1)
        a1 = Relu (c1)
        q1 = QuantizeLinear (a1, scale, zero)
        d1 = DequantizeLinear (q1, scale, zero)
        c2 = Conv <kernel_shape=[3,3], strides=[2,2]> (d1, w2)
        q2 = QuantizeLinear (c2, scale, zero)
        left = DequantizeLinear (q2, scale, zero)
        right = DequantizeLinear (q2, scale, zero)
        sum = Add (left, right)
        pooled = GlobalAveragePool (sum)
        logits = Flatten (pooled)
        """,
        scale=np.array(0.1, np.float32), zero=np.array(0, np.uint8),
        w1=np.ones((8, 3, 3, 3), np.float32), w2=np.ones((10, 8, 3, 3), np.float32),
    )  # fmt: skip
    taps = taps_of(model)
    assert [(tap.name, tap.nonnegative) for tap in taps] == [("d1", True), ("sum", True)]


@pytest.mark.parametrize("before", ["c1", "c2"], ids=["in front", "in the middle"])
def test_scales_behind_a_branch(before: str) -> None:
    """An `If` captures its inputs: the picture passes through it too."""
    model = small_cnn()
    node = next(node for node in model.graph.node if node.output[0] == before)
    entering, node.input[0] = node.input[0], "chosen"
    bodies = {
        name: onnx.parser.parse_graph(f"{name} () => (float[] {name}) {{ {name} = {operator} ({entering}) }}")
        for name, operator in (("same", "Identity"), ("negated", "Neg"))
    }
    branch = onnx.helper.make_node(
        "If", ["flag"], ["chosen"], then_branch=bodies["same"], else_branch=bodies["negated"]
    )
    model.graph.node.insert(list(model.graph.node).index(node), branch)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array(True), "flag"))
    assert found(model) == [("a1", 8, 32), ("a2", 12, 16), ("a3", 16, 8)]


def test_taps_by_name_override_the_rule() -> None:
    assert found(small_cnn(), taps=["a1", "c3"]) == [("a1", 8, 32), ("c3", 16, 8)]
    assert found(small_cnn(), taps="a2") == [("a2", 12, 16)]


def test_an_unknown_tap_gets_the_closest_names() -> None:
    with pytest.raises(GraftError, match=r"no tensor named 'relu_a1'; closest: .*a1"):
        taps_of(small_cnn(), taps=["relu_a1"])
    with pytest.raises(GraftError, match="'flat' cannot be tapped"):
        taps_of(small_cnn(), taps=["flat"])


def test_two_branches_without_a_dominator_fall_back_and_say_so() -> None:
    """Two streams that meet only in the head: no tensor carries everything."""
    model = network(
        """
        l1 = Conv <kernel_shape=[3,3], strides=[2,2]> (input, w1)
        la = Relu (l1)
        lp = GlobalAveragePool (la)
        r1 = Conv <kernel_shape=[3,3], strides=[2,2]> (input, w1)
        ra = Relu (r1)
        rp = GlobalAveragePool (ra)
        both = Concat <axis=1> (lp, rp)
        logits = Flatten (both)
        """,
        w1=np.ones((8, 3, 3, 3), np.float32),
    )
    (tap,) = taps_of(model)
    assert tap.name == "ra"
    assert "no dominator" in tap.why


def with_side_branch(side: str, end: str) -> onnx.ModelProto:
    """Scales of 32, 16 and 4 pixels; beside the second, a coarse side branch that computes `y` from `a2`."""
    return network(
        f"""
        c1 = Conv <kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]> (input, w1)
        a1 = Relu (c1)
        c2 = Conv <kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]> (a1, w)
        a2 = Relu (c2)
        main = Conv <kernel_shape=[3,3], pads=[1,1,1,1]> (a2, w)
        {side}
        {end}
        c3 = Conv <kernel_shape=[3,3], strides=[4,4], pads=[1,1,1,1]> (y, w)
        a3 = Relu (c3)
        pooled = GlobalAveragePool (a3)
        flat = Flatten (pooled)
        logits = Gemm <transB=1> (flat, w4)
        """,
        w1=np.ones((8, 3, 3, 3), np.float32), w=np.ones((8, 8, 3, 3), np.float32),
        point=np.ones((8, 8, 1, 1), np.float32), both=np.ones((8, 16, 1, 1), np.float32),
        w4=np.ones((10, 8), np.float32), twice=np.array([1, 1, 2, 2], np.float32),
    )  # fmt: skip


FROM_AFAR = """
    far = AveragePool <kernel_shape=[2,2], strides=[2,2]> (a2)
    look = Conv <kernel_shape=[3,3], pads=[1,1,1,1]> (far, w)
    s = Sigmoid (look)
    near = Resize <mode="nearest"> (s, , twice)
"""


@pytest.mark.parametrize(
    ("side", "end"),
    [
        (FROM_AFAR, "y = Mul (main, near)"),
        (FROM_AFAR, "weighed = Mul (main, near) y = Add (weighed, a2)"),
        (
            """
            lines = ReduceMean <axes=[3], keepdims=1> (a2)
            look = Conv <kernel_shape=[1,1]> (lines, point)
            s = Sigmoid (look)
            """,
            "y = Mul (main, s)",
        ),
    ],
    ids=["GhostNetV2", "beside a shortcut", "of rows"],
)
def test_what_only_weighs_another_path_is_no_scale(side: str, end: str) -> None:
    assert found(with_side_branch(side, end)) == [("a1", 8, 32), ("a2", 8, 16), ("a3", 8, 4)]


@pytest.mark.parametrize(
    "end",
    [
        "y = Add (main, near)",
        "cat = Concat <axis=1> (main, near) y = Conv <kernel_shape=[1,1]> (cat, both)",
        "sum = Add (main, near) gate = Sigmoid (sum) y = Mul (sum, gate)",
    ],
    ids=["added", "concatenated", "multiplied with what follows from it"],
)
def test_what_another_path_takes_up_is_a_scale(end: str) -> None:
    taps = {tap.name: tap for tap in taps_of(with_side_branch(FROM_AFAR, end))}
    assert "no dominator" in taps["s"].why
    assert len(taps) == 4


@pytest.mark.parametrize("order", ["deep first", "deep last"])
def test_the_last_of_parallel_branches_is_the_deepest_one(order: str) -> None:
    """A file may list them in any order, and tools that rewrite files change it."""
    deep = """
        l1 = Conv <kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]> (input, w1)
        la = Relu (l1)
        l2 = Conv <kernel_shape=[3,3], pads=[1,1,1,1]> (la, w)
        deep = Relu (l2)
        lp = GlobalAveragePool (deep)
    """
    flat = """
        r1 = Conv <kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]> (input, w1)
        flat = Relu (r1)
        rp = GlobalAveragePool (flat)
    """
    model = network(
        f"""
        {deep + flat if order == "deep first" else flat + deep}
        both = Concat <axis=1> (lp, rp)
        logits = Flatten (both)
        """,
        w1=np.ones((8, 3, 3, 3), np.float32), w=np.ones((8, 8, 3, 3), np.float32),
    )  # fmt: skip
    assert found(model) == [("deep", 8, 32)]
