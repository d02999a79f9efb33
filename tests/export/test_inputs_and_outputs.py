"""Further inputs, further outputs, and intermediate values that are not tensors."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from fastcam_export import GraftError, graft
from fastcam_export.check import check
from onnx import TensorProto, helper
from support.networks import add_weights, hide_a_shape, small_cnn, take_weights
from support.running import metadata_of, picture, run


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


@pytest.mark.slow
def test_a_sequence_on_the_way_is_no_tap() -> None:
    """A tensor that is split and concatenated again is the same, and so are the maps."""
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


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("hidden", [False, True])
def test_inputs_that_share_their_free_dimensions(hidden: bool) -> None:
    """A colour picture and its depth have the same free size."""
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("end", "kind"),
    [
        ("logits = Identity (raw)", "logits"),
        ("logits = Softmax <axis=1> (raw)", "probabilities"),
        ("p = Sigmoid (raw) q = QuantizeLinear (p, s) logits = DequantizeLinear (q, s)", "probabilities"),
        ("q = QuantizeLinear (raw, s) logits = DequantizeLinear (q, s)", "logits"),
    ],
)
def test_what_the_scores_are(end: str, kind: str) -> None:
    """The file states it, so that no runtime applies a softmax to probabilities."""
    model = small_cnn()
    model.graph.node[-1].output[0] = "raw"
    model.graph.node.extend(onnx.parser.parse_graph(f"g (float raw) => (float logits) {{ {end} }}").node)
    add_weights(model, s=np.float32(1 / 256))
    assert metadata_of(graft(model)).scores_are == kind


def test_the_check_shows_the_network_what_its_preprocessing_gives() -> None:
    """A network that starts with a square root is undefined for values below 0."""
    if ort.__version__.startswith("1.21."):
        pytest.skip("onnxruntime 1.21 makes 0 of NaN in a convolution with ReLU")
    model = small_cnn()
    model.graph.node.insert(0, helper.make_node("Sqrt", ["input"], ["root"]))
    model.graph.node[1].input[0] = "root"
    graft(model, preprocess="unit")
    with pytest.raises(GraftError, match="not finite"):
        graft(model, preprocess="signed")


def test_an_output_without_a_shape() -> None:
    """onnx's checker refuses it, onnxruntime does not."""
    model, x = small_cnn(), picture(1, 3, 64, 64)
    model.graph.output.append(onnx.ValueInfoProto(name="a3"))
    np.testing.assert_array_equal(run(graft(model), input=x)["a3"], run(model, input=x)["a3"])
