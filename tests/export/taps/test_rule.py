"""The rule on small networks: dominators, fallbacks, names given by the user, and what is refused."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from fastcam_export import GraftError
from found_taps import found, taps_of
from networks import network, residual_net, small_cnn


def test_an_inner_relu_that_the_shortcut_bypasses_is_not_taken() -> None:
    taps = taps_of(residual_net())
    assert [tap.name for tap in taps] == ["end", "last"]
    assert "inner (Relu): bypassed by another path" in taps[0].rejected


def test_an_mlp_is_refused() -> None:
    model = network("flat = Flatten (input) hidden = MatMul (flat, w) logits = Relu (hidden)",
                    w=np.ones((3 * 64 * 64, 10), np.float32))  # fmt: skip
    with pytest.raises(GraftError, match="no usable scale"):
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
    with pytest.raises(GraftError, match="what QLinearConv gives is integers: quantise in the QDQ format"):
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
    """An `If` captures what it reads: the picture passes through it all the same."""
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
