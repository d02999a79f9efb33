"""Older opsets: the upgraded network gives bit-identical results."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import onnx
import pytest
from fastcam_export import GraftError, export, graft
from fastcam_export.errors import LoadError
from fastcam_export.load import load
from onnx import TensorProto, helper
from support.networks import add_weights, network, small_cnn
from support.running import picture, run


def with_upsampling(opset: int, mode: str, scales: tuple[float, float]) -> onnx.ModelProto:
    """`small_cnn` with its second feature map upsampled, and a head that depends on each pixel's position."""
    operator = "Upsample" if opset < 10 else "Resize"
    model = small_cnn(opset=opset)
    c3 = next(node for node in model.graph.node if node.output[0] == "c3")
    c3.input[0] = "large"
    where = list(model.graph.node).index(c3)
    model.graph.node.insert(where, helper.make_node(operator, ["a2", "factors"], ["large"], mode=mode))
    add_weights(model, factors=np.array([1, 1, *scales], np.float32))
    return model


@pytest.mark.slow
@pytest.mark.parametrize("scales", [(2, 2), (1.5, 1.75)])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("opset", [9, 10])
def test_upsampling_keeps_its_pixels_where_they_were(
    opset: int, mode: str, scales: tuple[float, float]
) -> None:
    model, x = with_upsampling(opset, mode, scales), picture(1, 3, 64, 64)
    np.testing.assert_array_equal(run(graft(model), input=x)["logits"], run(model, input=x)["logits"])


@pytest.mark.parametrize("constant", [False, True])
def test_a_resize_with_sizes_and_empty_scales_is_upgraded(constant: bool) -> None:
    """As exporters wrote it in opsets 11 and 12; from 13 on only one of the two may be there."""
    model = small_cnn(opset=11)
    c3 = next(node for node in model.graph.node if node.output[0] == "c3")
    c3.input[0] = "large"
    where = list(model.graph.node).index(c3)
    resize = helper.make_node("Resize", ["a2", "none", "none", "sizes"], ["large"], mode="nearest")
    model.graph.node.insert(where, resize)
    shape = run(model_until(model, "a2"), input=(x := picture(1, 3, 64, 64)))["a2"].shape
    add_weights(model, sizes=np.array([*shape[:2], 2 * shape[2], 2 * shape[3]], np.int64))
    if constant:
        empty = helper.make_tensor("none", TensorProto.FLOAT, [0], [])
        model.graph.node.insert(where, helper.make_node("Constant", [], ["none"], value=empty))
    else:
        add_weights(model, none=np.zeros(0, np.float32))
    np.testing.assert_array_equal(run(graft(model), input=x)["logits"], run(model, input=x)["logits"])


def model_until(model: onnx.ModelProto, name: str) -> onnx.ModelProto:
    """The first nodes of a model, with the tensor `name` as its only output."""
    part = onnx.ModelProto()
    part.CopyFrom(model)
    del part.graph.output[:]
    part.graph.output.append(onnx.ValueInfoProto(name=name))
    last = next(k for k, node in enumerate(part.graph.node) if name in node.output)
    del part.graph.node[last + 1 :]
    return part


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["path", "bytes", "model"])
@pytest.mark.parametrize("verb", ["graft", "export"])
def test_an_upgrade_that_changes_the_network_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str, kind: str
) -> None:
    """From a file or from memory, the model is compared with the original."""
    upgrading = importlib.import_module("fastcam_export.load.upgrade")  # beside the function of that name
    monkeypatch.setattr(upgrading, "_keep_resize_modes", lambda proto: None)
    model = with_upsampling(10, "linear", (2, 2))
    onnx.save(model, tmp_path / "model.onnx")
    given = {"path": tmp_path / "model.onnx", "bytes": model.SerializeToString(), "model": model}[kind]
    with pytest.raises(GraftError, match="changed the output 'logits'"):
        graft(given) if verb == "graft" else export(given, tmp_path / "out.onnx")


@pytest.mark.slow
@pytest.mark.parametrize("function", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize("flat", [True, False])
def test_an_upgraded_half_precision_softmax_keeps_every_digit(flat: bool, function: str) -> None:
    """For scores N×1000, and N×1000×1×1, which the older operator flattens to a matrix."""
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
    """If neighbours of a Softmax have half-precision kernels, the upgrade does not change it."""
    rng = np.random.default_rng(0)
    weights = {
        "w1": rng.standard_normal((16, 3, 3, 3)).astype(np.float16),
        "w2": rng.standard_normal((200, 16, 3, 3)).astype(np.float16),
        "low": np.array(-1, np.float16),
    }
    ends = {"inputs": "float16[1,3,64,64] input", "output": "float16[1,200] logits", "opset": 11}
    upgraded = load(network(ATTENTION + head, **ends, **weights)).proto
    assert "Cast" not in [node.op_type for node in upgraded.graph.node]


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


def test_a_converter_that_does_not_say_why_it_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(onnx.version_converter, "convert_version", fail)
    with pytest.raises(LoadError, match=r"opset 11 cannot be upgraded to 13, .*: RuntimeError"):
        load(small_cnn(opset=11))
