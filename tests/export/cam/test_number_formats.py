"""Heads in half precision and in quantised integers: the map is float32, the network is not changed."""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
from fastcam_export.load import load
from onnx import TensorProto, helper, numpy_helper
from support.cam_harness import autograd, normalise, run, session, textbook_cam, with_class_map
from support.shared_data import shared

RNG = np.random.default_rng(4)
CHANNELS, CLASSES, SCALE = 12, 5, 1 / 64


def half(model: str, weights: dict[str, np.ndarray]) -> onnx.ModelProto:
    proto = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 13]>\n{model}')
    for name, array in weights.items():
        proto.graph.initializer.append(numpy_helper.from_array(array.astype(np.float16), name))
    return proto


@pytest.mark.parametrize(("method", "tolerance"), [("gradcam", 1e-5), ("gradcam++", 1e-3)])
def test_half_precision(method: str, tolerance: float) -> None:
    """Features and weights are exact here; the means that Grad-CAM++ reads are rounded to half."""
    x = RNG.normal(size=(2, CHANNELS, 4, 4)).astype(np.float16)
    weight = RNG.normal(size=(CLASSES, CHANNELS)).astype(np.float16)
    model = half(
        f"net (float16[N,{CHANNELS},4,4] x) => (float16[N,{CLASSES}] scores) {{\n tap = Relu(x)\n"
        " p = GlobalAveragePool(tap)\n f = Flatten(p)\n l = Gemm<transB=1>(f, w)\n scores = Softmax(l)\n}",
        {"w": weight},
    )
    classes = np.array([3, 1])
    cam = run(with_class_map(model, "tap", method=method), "cam", {"x": x, "saliency_class": classes})
    features = np.maximum(x, 0).astype(np.float32)
    g = autograd(lambda a: a.mean((2, 3)) @ torch.tensor(weight).double().T, features, classes)
    assert cam.dtype == np.float32
    np.testing.assert_allclose(cam, textbook_cam(features, g, method), atol=tolerance)


def test_half_precision_general() -> None:
    """Two linear layers with a Tanh between: the gradient is computed in float32 from rounded values."""
    x = RNG.normal(size=(2, CHANNELS, 4, 4)).astype(np.float16)
    weights = {"v": RNG.normal(size=(8, CHANNELS)), "w": RNG.normal(size=(CLASSES, 8))}
    model = half(
        f"net (float16[N,{CHANNELS},4,4] x) => (float16[N,{CLASSES}] scores) {{\n tap = Relu(x)\n"
        " p = GlobalAveragePool(tap)\n f = Flatten(p)\n h = Gemm<transB=1>(f, v)\n t = Tanh(h)\n"
        " scores = Gemm<transB=1>(t, w)\n}",
        weights,
    )
    v, w = (torch.tensor(array.astype(np.float16)).double() for array in weights.values())
    classes = np.array([3, 1])
    features = np.maximum(x, 0).astype(np.float32)
    g = autograd(lambda a: torch.tanh(a.mean((2, 3)) @ v.T) @ w.T, features, classes)
    for method in ("gradcam++", "gradcam"):
        cam = run(with_class_map(model, "tap", method=method), "cam", {"x": x, "saliency_class": classes})
        np.testing.assert_allclose(cam, textbook_cam(features, g, method), atol=3e-3)


def quantised(layer: str, per_class: bool) -> tuple[onnx.ModelProto, np.ndarray]:
    """x → Q/DQ = tap → GlobalAveragePool → Q/DQ → Linear with int8 weights; and the weights as floats."""
    q = RNG.integers(-127, 128, size=(CLASSES, CHANNELS)).astype(np.int8)
    scales = RNG.uniform(0.01, 0.02, size=CLASSES if per_class else 1).astype(np.float32)
    zeros = RNG.integers(-3, 4, size=scales.shape).astype(np.int8)
    weight = (q.astype(np.float64) - zeros[:, None]) * scales[:, None]
    turned = layer == "MatMul"
    constants = {
        "q": q.T if turned else q,
        "scales": scales if per_class else scales[0],
        "zeros": zeros if per_class else zeros[0],
        "s": np.float32(SCALE),
        "z": np.uint8(0),
        "ps": np.float32(SCALE / 4),
    }
    axis = int(turned)
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["xq"]),
        helper.make_node("DequantizeLinear", ["xq", "s", "z"], ["tap"]),
        helper.make_node("GlobalAveragePool", ["tap"], ["pool"]),
        helper.make_node("QuantizeLinear", ["pool", "ps", "z"], ["pq"]),
        helper.make_node("DequantizeLinear", ["pq", "ps", "z"], ["pd"]),
        helper.make_node("Flatten", ["pd"], ["flat"]),
        helper.make_node("Identity", ["scales"], ["shared"]),
        helper.make_node("DequantizeLinear", ["q", "shared", "zeros"], ["w"], axis=axis),
        helper.make_node(layer, ["flat", "w"], ["scores"], **({} if turned else {"transB": 1})),
    ]
    graph = helper.make_graph(
        nodes,
        "quantised",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", CHANNELS, 4, 4])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["N", CLASSES])],
        [numpy_helper.from_array(np.ascontiguousarray(array), name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), weight


@pytest.mark.parametrize("per_class", [True, False], ids=["per_class", "per_tensor"])
@pytest.mark.parametrize("layer", ["Gemm", "MatMul"])
def test_quantised(layer: str, per_class: bool) -> None:
    model, weight = quantised(layer, per_class)
    x = (SCALE * RNG.integers(0, 60, size=(2, CHANNELS, 4, 4))).astype(np.float32)
    classes = np.array([2, 4])
    g = autograd(lambda a: a.mean((2, 3)) @ torch.tensor(weight).T, x, classes)
    for method, tolerance in (("gradcam", 1e-5), ("gradcam++", 2e-3)):
        grown = with_class_map(model, "tap", method=method)
        cam = run(grown, "cam", {"x": x, "saliency_class": classes})
        np.testing.assert_allclose(cam, textbook_cam(x, g, method), atol=tolerance)
        assert _float_readers(grown, model) == _float_readers(model, model)


def test_quantised_general() -> None:
    """Two quantised layers with a HardSwish between."""
    model, weight = quantised("Gemm", per_class=True)
    second = RNG.integers(-127, 128, size=(4, CLASSES)).astype(np.int8)
    nodes = [
        helper.make_node("QuantizeLinear", ["scores", "hs", "hz"], ["hq"]),
        helper.make_node("DequantizeLinear", ["hq", "hs", "hz"], ["hd"]),
        helper.make_node("HardSigmoid", ["hd"], ["gate"], alpha=1 / 6, beta=0.5),
        helper.make_node("Mul", ["hd", "gate"], ["swish"]),
        helper.make_node("QuantizeLinear", ["swish", "hs", "hz"], ["wq"]),
        helper.make_node("DequantizeLinear", ["wq", "hs", "hz"], ["wd"]),
        helper.make_node("DequantizeLinear", ["second", "s"], ["second_float"]),
        helper.make_node("Gemm", ["wd", "second_float"], ["out"], transB=1),
    ]
    model.graph.node.extend(nodes)
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("out", TensorProto.FLOAT, ["N", 4]))
    for name, array in {"second": second, "hs": np.float32(1 / 32), "hz": np.int8(3)}.items():
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
    x = (SCALE * RNG.integers(0, 60, size=(2, CHANNELS, 4, 4))).astype(np.float32)
    classes = np.array([2, 3])

    def head(a: torch.Tensor) -> torch.Tensor:
        hidden = torch.nn.functional.hardswish(a.mean((2, 3)) @ torch.tensor(weight).T)
        return hidden @ torch.tensor(second).double().T * SCALE

    try:
        run(model, "out", {"x": x})
    except ort.capi.onnxruntime_pybind11_state.Fail:
        pytest.skip("this onnxruntime does not run the network itself")
    grown = with_class_map(model, "tap")
    cam = run(grown, "cam", {"x": x, "saliency_class": classes})
    np.testing.assert_allclose(cam, textbook_cam(x, autograd(head, x, classes), "gradcam++"), atol=0.02)
    assert _float_readers(grown, model) == _float_readers(model, model)


def test_weights_with_a_scale_per_block() -> None:
    """Both the layer that gathers one class and the one before it."""
    weights = {}
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 21]>\n'
        f"net (float[N,{CHANNELS},4,4] x) => (float[N,{CLASSES}] scores) {{\n tap = Relu(x)\n"
        " p = GlobalAveragePool(tap)\n f = Flatten(p)\n"
        " v = DequantizeLinear<axis=1,block_size=4>(vq, vs)\n h = Gemm<transB=1>(f, v)\n t = Tanh(h)\n"
        " w = DequantizeLinear<axis=1,block_size=4>(wq, ws)\n scores = Gemm<transB=1>(t, w)\n}"
    )
    for name, shape in {"v": (8, CHANNELS), "w": (CLASSES, 8)}.items():
        q = RNG.integers(-127, 128, size=shape).astype(np.int8)
        scales = RNG.uniform(0.005, 0.02, size=(shape[0], shape[1] // 4)).astype(np.float32)
        for kind, array in {"q": q, "s": scales}.items():
            model.graph.initializer.append(numpy_helper.from_array(array, name + kind))
        weights[name] = torch.tensor(q * np.repeat(scales, 4, axis=1)).double()
    x = np.abs(RNG.normal(size=(2, CHANNELS, 4, 4))).astype(np.float32)
    classes = np.array([3, 1])
    g = autograd(lambda a: torch.tanh(a.mean((2, 3)) @ weights["v"].T) @ weights["w"].T, x, classes)
    cam = run(with_class_map(model, "tap"), "cam", {"x": x, "saliency_class": classes})
    np.testing.assert_allclose(cam, textbook_cam(x, g, "gradcam++"), atol=1e-4)


def _float_readers(grown: onnx.ModelProto, network: onnx.ModelProto) -> dict[str, int]:
    """How often the network's dequantised tensors are read: one more would prevent integer kernels."""
    dequantised = {n.output[0] for n in network.graph.node if n.op_type == "DequantizeLinear"}
    readers = Counter(name for node in grown.graph.node for name in node.input if name in dequantised)
    return dict(readers)


def _network(name: str) -> onnx.ModelProto:
    return load(shared(f"models/{name}")).proto


def test_real_squeezenet_in_half_precision() -> None:
    """Its last ReLU has a channel per class: the map of a class is that channel."""
    model = _network("squeezenet1_1-fp16.onnx")
    shape = (1, 1000, 13, 13)
    model.graph.output.append(helper.make_tensor_value_info("conv10_2", TensorProto.FLOAT16, shape))
    picture = RNG.normal(scale=60, size=(1, 3, 224, 224)).astype(np.float16)
    runner = session(with_class_map(model, "conv10_2"))
    scores, features = runner.run(["softmaxout_1", "conv10_2"], {"data_0": picture})
    ranking = np.argsort(-scores.reshape(-1))
    for rank in (0, 1, 2, 3):
        feeds = {"data_0": picture} | ({"saliency_class": ranking[rank : rank + 1]} if rank else {})
        (cam,) = runner.run(["cam"], feeds)
        np.testing.assert_allclose(cam, normalise(features[:, ranking[rank]].astype(np.float64)), atol=1e-3)


def test_real_mobilenet_in_integers() -> None:
    model = _network("mobilenet_v2-int8-qdq.onnx")
    nodes = {node.output[0]: node for node in model.graph.node}
    arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    gemm = next(node for node in model.graph.node if node.op_type == "Gemm")
    names = nodes[gemm.input[1]].input
    q, scale, zero = (arrays[nodes[name].input[0] if name in nodes else name] for name in names)
    weight = (q.astype(np.float64) - zero.reshape(-1, 1)) * scale.reshape(-1, 1)
    pool = next(node for node in model.graph.node if node.op_type == "GlobalAveragePool")
    tap = pool.input[0]
    grown = with_class_map(model, tap)
    assert _float_readers(grown, model) == _float_readers(model, model)
    grown.graph.output.append(helper.make_tensor_value_info(tap, TensorProto.FLOAT, None))
    picture = RNG.normal(size=(1, 3, 244, 244)).astype(np.float32)
    name = model.graph.input[0].name
    scores, features, cam = session(grown).run(["scores", tap, "cam"], {name: picture})
    g = autograd(lambda a: a.mean((2, 3)) @ torch.tensor(weight).T, features, scores.argmax(1))
    np.testing.assert_allclose(cam, textbook_cam(features, g, "gradcam++"), atol=5e-3)
