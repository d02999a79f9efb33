"""Inputs beside the picture, outputs beside the scores, and values on the way that are no tensors."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from fastcam_export import GraftError, graft
from fastcam_export.check import check
from networks import add_weights, hide_a_shape, network, small_cnn, take_weights
from onnx import TensorProto, helper
from running import metadata_of, picture, run


def with_names() -> onnx.ModelProto:
    model = small_cnn()
    model.graph.node.append(helper.make_node("ArgMax", ["logits"], ["best"], axis=1, keepdims=0))
    model.graph.node.append(helper.make_node("Gather", ["names", "best"], ["label"]))
    model.graph.output.append(helper.make_tensor_value_info("label", TensorProto.STRING, ["N"]))
    add_weights(model, names=np.array([f"class {i}" for i in range(10)], dtype=object))
    return model


def test_an_output_may_be_text() -> None:
    model, x = with_names(), picture(1, 3, 64, 64)
    grafted = graft(model)
    assert list(run(grafted, input=x)["label"]) == list(run(model, input=x)["label"])
    damaged = onnx.ModelProto.FromString(grafted.SerializeToString())
    take_weights(damaged, "names")
    add_weights(damaged, names=np.array(["other"] * 10, dtype=object))
    with pytest.raises(GraftError, match="the graft changed the output 'label'"):
        check(model.SerializeToString(), damaged.SerializeToString(), metadata_of(grafted))


def test_a_sequence_on_the_way_is_no_tap() -> None:
    """Taken apart and put together again, the tensor is the same: so are the maps."""
    model, x = small_cnn(), picture(1, 3, 64, 64)
    model.graph.node.insert(2, helper.make_node("SplitToSequence", ["a1", "two"], ["parts"], axis=1))
    model.graph.node.insert(3, helper.make_node("ConcatFromSequence", ["parts"], ["whole"], axis=1))
    model.graph.node[4].input[0] = "whole"
    add_weights(model, two=np.array(2))
    grafted = graft(model, taps="a1,a2,a3")
    expected = run(graft(small_cnn()), input=x)
    for name, values in run(grafted, input=x).items():
        np.testing.assert_allclose(values, expected[name], atol=1e-5, err_msg=name)
    assert len(metadata_of(graft(model)).taps) == 3


@pytest.mark.parametrize("kind", ["int32", "int64", "bool", "float16", "double", "uint8", "string"])
@pytest.mark.parametrize("hidden", [False, True])
def test_a_further_input_of_any_type(hidden: bool, kind: str) -> None:
    model, x = small_cnn(f"float[1,3,64,64] input, {kind}[n,3] more"), picture(1, 3, 64, 64)
    if hidden:
        hide_a_shape(model)
    model.graph.node.append(helper.make_node("Identity", ["more"], ["same"]))
    model.graph.output.append(onnx.ValueInfoProto(name="same", type=model.graph.input[1].type))
    more = np.full((1, 3), "text" if kind == "string" else 1, object if kind == "string" else kind)
    before, after = run(model, input=x, more=more), run(graft(model), input=x, more=more)
    for name, values in before.items():
        np.testing.assert_array_equal(after[name], values, err_msg=name)


@pytest.mark.parametrize("hidden", [False, True])
def test_inputs_that_share_their_free_dimensions(hidden: bool) -> None:
    """A colour picture and its depth have one size, whichever it is."""
    model = small_cnn("float[N,3,H,W] input, float[N,1,H,W] depth")
    if hidden:
        hide_a_shape(model)
    add_weights(model, w1=np.concatenate([w := take_weights(model, "w1"), w[:, :1]], axis=1))
    model.graph.node.insert(0, helper.make_node("Concat", ["input", "depth"], ["both"], axis=1))
    model.graph.node[1].input[0] = "both"
    feeds = {"input": picture(2, 3, 48, 80), "depth": picture(2, 1, 48, 80)}
    grafted = run(graft(model, input_shape=[2, 3, 64, 64]), **feeds)
    np.testing.assert_array_equal(grafted["logits"], run(model, **feeds)["logits"])
    assert grafted["saliency_map"].shape == (2, 48, 80)


@pytest.mark.parametrize("function", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize("flat", [True, False])
def test_an_upgraded_half_precision_softmax_keeps_every_digit(flat: bool, function: str) -> None:
    """Of scores N×1000, and of N×1000×1×1, which the older operator takes for a matrix."""
    model = small_cnn("float16[1,3,64,64] input", opset=11, dtype=np.float16, channels=(8, 12, 1000))
    del model.graph.node[-1 if flat else -2 :]
    before = model.graph.node[-1].output[0]
    model.graph.node.append(helper.make_node(function, [before], ["scores"], axis=1))
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("scores", TensorProto.FLOAT16, None))
    grafted = graft(model, outputs=["saliency_map", "cam"])
    for seed in range(40):
        x = picture(1, 3, 64, 64, seed=seed).astype(np.float16)
        np.testing.assert_array_equal(run(grafted, input=x)["scores"], run(model, input=x)["scores"])


ATTENTION = """
    c1 = Conv <kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]> (input, w1)
    a1 = Relu (c1)
    squeezed = GlobalAveragePool (a1)
    gate = Softmax <axis=1> (squeezed)
    gated = Mul (a1, gate)
    c2 = Conv <kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]> (gated, w2)
    a2 = Relu (c2)
    pooled = GlobalAveragePool (a2)
    flat = Flatten (pooled)
"""
HEADS = {
    "in the middle": "logits = Identity (flat)",
    "behind a half-precision operator": "top = Clip (flat, low)  logits = Softmax <axis=1> (top)",
    "twice": "one = Softmax <axis=1> (flat)  logits = Softmax <axis=1> (one)",
    "read by another": "logits = Softmax <axis=1> (flat)  other = Neg (logits)",
}


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_no_cast_beside_what_it_would_round(head: str) -> None:
    """Where neighbours of a Softmax have kernels for half precision, the upgrade leaves it as it is."""
    rng = np.random.default_rng(0)
    weights = {
        "w1": rng.standard_normal((16, 3, 3, 3)).astype(np.float16),
        "w2": rng.standard_normal((200, 16, 3, 3)).astype(np.float16),
        "low": np.array(-1, np.float16),
    }
    ends = {"inputs": "float16[1,3,64,64] input", "output": "float16[1,200] logits", "opset": 11}
    grafted = graft(network(ATTENTION + head, **ends, **weights))
    assert "Cast" not in [n.op_type for n in grafted.graph.node if not n.name.startswith("fastcam/")]


def test_names_of_the_casts_are_new() -> None:
    model = small_cnn("float16[1,3,64,64] input", opset=11, dtype=np.float16)
    for node in model.graph.node:
        node.output[:] = [
            name.replace("logits", "before").replace("a1", "logits/wide") for name in node.output
        ]
        node.input[:] = [name.replace("a1", "logits/wide") for name in node.input]
    model.graph.node.append(helper.make_node("Softmax", ["before"], ["logits"], axis=1))
    x = picture(1, 3, 64, 64).astype(np.float16)
    np.testing.assert_array_equal(run(graft(model), input=x)["logits"], run(model, input=x)["logits"])
