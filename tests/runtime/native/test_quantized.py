"""SMOE Scale of quantised activations: the kernel, and which networks get it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort
import pytest
from fastcam_export import graft
from fastcam_runtime import native
from onnx import numpy_helper
from support.compiled import compiled_session, feed, node_model
from support.oracle import method
from support.shared_data import shared

pytestmark = pytest.mark.skipif(native.library_path() is None, reason=native.status())

TYPES = [(np.uint8, 0), (np.uint8, 117), (np.int8, -128), (np.int8, 0), (np.int8, -3)]


def integers(shape: tuple[int, ...], dtype: type, seed: int = 0) -> np.ndarray:
    """Random bytes, half of them at the lowest value as behind a ReLU."""
    rng = np.random.default_rng(seed)
    info = np.iinfo(dtype)
    values = rng.integers(info.min, info.max + 1, shape)
    return np.where(rng.random(shape) < 0.5, info.min, values).astype(dtype)


def oracle(x: np.ndarray, scale: float, zero: int) -> np.ndarray:
    """SMOE Scale in float64 of the dequantised tensor."""
    return method.smoe(np.float64(np.float32(scale)) * (x.astype(np.float64) - zero))


def assert_same_map(found: np.ndarray, expected: np.ndarray) -> None:
    assert np.abs(found - expected).max() <= 1e-5 * max(float(np.ptp(expected)), 1e-30)


@pytest.mark.parametrize(("dtype", "zero"), TYPES)
@pytest.mark.parametrize(
    "shape", [(1, 96, 30, 31), (2, 24, 5, 5), (1, 7, 3, 2), (1, 1280, 7, 7), (1, 530, 9, 9)]
)
def test_kernel_is_the_formula_on_the_dequantised_tensor(
    dtype: type, zero: int, shape: tuple[int, ...]
) -> None:
    x = integers(shape, dtype)
    scale, zero_point = np.array(0.0235, np.float32), np.array(zero, dtype)
    session = compiled_session(node_model("SmoeScaleQuantized", x, scale, zero_point, epsilon=1e-6))
    assert_same_map(feed(session, x, scale, zero_point), oracle(x, 0.0235, zero))


@pytest.mark.parametrize(("dtype", "zero"), TYPES)
@pytest.mark.parametrize("shape", [(1, 30, 31, 96), (2, 5, 5, 24), (1, 7, 7, 1280), (1, 3, 3, 2304)])
def test_kernel_reads_channels_that_come_last(dtype: type, zero: int, shape: tuple[int, ...]) -> None:
    x = integers(shape, dtype)
    scale, zero_point = np.array([0.0235], np.float32), np.array([zero], dtype)
    session = compiled_session(node_model("SmoeScaleQuantizedNhwc", x, scale, zero_point, epsilon=1e-6))
    assert_same_map(feed(session, x, scale, zero_point), oracle(x.transpose(0, 3, 1, 2), 0.0235, zero))


@pytest.mark.parametrize("scale", [1e-8, 1e-3, 1.0, 1e4])
def test_any_scale(scale: float) -> None:
    x = integers((1, 40, 6, 6), np.uint8)
    inputs = (x, np.array(scale, np.float32), np.array(0, np.uint8))
    session = compiled_session(node_model("SmoeScaleQuantized", *inputs, epsilon=1e-6))
    assert_same_map(feed(session, *inputs), oracle(x, scale, 0))


def test_equal_channels_give_zero() -> None:
    inputs = (np.full((1, 16, 4, 4), 9, np.uint8), np.array(0.1, np.float32), np.array(3, np.uint8))
    session = compiled_session(node_model("SmoeScaleQuantized", *inputs, epsilon=1e-6))
    assert not feed(session, *inputs).any()


def quantized_network(zero_point: np.ndarray, scale: np.ndarray, axis: int = 1) -> onnx.ModelProto:
    """Conv → Relu → QuantizeLinear → DequantizeLinear → pool → Flatten: activations of this scale."""
    model = onnx.parser.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 21]>
        net (float[1,3,32,32] input) => (float[1,8] logits) <float[8,3,3,3] w> {{
            c = Conv <strides = [2, 2], pads = [1, 1, 1, 1]> (input, w)
            r = Relu (c)
            q = QuantizeLinear <axis = {axis}> (r, s, z)
            d = DequantizeLinear <axis = {axis}> (q, s, z)
            p = GlobalAveragePool (d)
            logits = Flatten (p)
        }}""")
    weights = np.random.default_rng(0).standard_normal((8, 3, 3, 3)).astype(np.float32)
    for name, array in (("w", weights), ("s", scale), ("z", zero_point)):
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    return model


SCALE = np.array(0.03, np.float32)
UNUSUAL = {
    "uint16": (np.array(0, np.uint16), np.array(3e-4, np.float32)),
    "per channel": (np.zeros(8, np.uint8), np.linspace(0.02, 0.04, 8, dtype=np.float32)),
}
USUAL = {
    "uint8": (np.array(0, np.uint8), SCALE),
    "zero point above the minimum": (np.array(40, np.uint8), SCALE),
    "int8": (np.array(-128, np.int8), SCALE),
    "int8 symmetric": (np.array(0, np.int8), SCALE),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", [*USUAL, *UNUSUAL])
def test_networks_of_any_quantisation_have_the_right_map(name: str, tmp_path: Path) -> None:
    plain = quantized_network(*{**USUAL, **UNUSUAL}[name])
    grafted = graft(plain, outputs=["scales"], normalize="range")
    functions = {function.name: function for function in grafted.functions}
    assert ("SmoeScaleQuantized" in functions) == (name in USUAL)
    if name == "uint8":  # with the bound that the scale states, a root is taken of eight or ten factors
        operators = [node.op_type for node in functions["SmoeScaleQuantized"].node]
        assert "MatMulInteger" in operators
        assert operators.count("Sqrt") == 1
    x = np.random.default_rng(1).standard_normal((1, 3, 32, 32)).astype(np.float32)
    plain.graph.output.append(onnx.helper.make_tensor_value_info("d", onnx.TensorProto.FLOAT, None))
    session = ort.InferenceSession(plain.SerializeToString(), providers=["CPUExecutionProvider"])
    scores, dequantized = session.run(None, {"input": x})
    s = method.smoe(np.maximum(dequantized.astype(np.float64), 0))
    expected = (s - s.min()) / (s.max() - s.min())
    for compiled in (False, True):
        options = ort.SessionOptions()
        if compiled:
            native.register(options)
        found = ort.InferenceSession(grafted.SerializeToString(), options, providers=["CPUExecutionProvider"])
        logits, scale_map = found.run(["logits", "saliency_scale_1"], {"input": x})
        np.testing.assert_array_equal(logits, scores)
        assert np.abs(scale_map - expected).max() <= 1e-5


@pytest.mark.slow
def test_int8_mobilenet_keeps_its_scores_bit_for_bit() -> None:
    plain = shared("models/mobilenet_v2-int8-qdq.onnx")
    grafted = graft(plain)
    assert {f.name for f in grafted.functions} >= {"SmoeScaleQuantized", "SmoeScaleQuantized2"}
    x = np.random.default_rng(0).standard_normal((1, 3, 244, 244)).astype(np.float32)
    expected = ort.InferenceSession(str(plain), providers=["CPUExecutionProvider"]).run(None, {"image": x})[0]
    for compiled in (False, True):
        options = ort.SessionOptions()
        if compiled:
            native.register(options)
        session = ort.InferenceSession(
            grafted.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        np.testing.assert_array_equal(session.run(["scores"], {"image": x})[0], expected)
