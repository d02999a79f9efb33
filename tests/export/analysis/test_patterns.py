"""Groups of nodes with one meaning."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import pytest
from fastcam_export.analysis.operators import facts
from fastcam_export.analysis.patterns import gated_input, quantized_from_zero
from onnx import parser


def nodes(body: str, opset: int = 21) -> list[ir.Node]:
    """The nodes of a graph with the input x."""
    header = f'<ir_version: 10, opset_import: ["" : {opset}]> net (float[1,4,8,8] x) => (float[N,C,H,W] y)'
    return list(ir.from_proto(parser.parse_model(f"{header} {{ {body} }}")).graph)


def is_activated(value: ir.Value) -> bool:
    node = value.producer()
    return node is not None and facts(node.op_type).activation


@pytest.mark.parametrize(
    "body",
    [
        "s = Sigmoid(x) y = Mul(x, s)",
        "s = Sigmoid(x) y = Mul(s, x)",
        "k = Constant<value_float = 1.702>() a = Mul(x, k) s = Sigmoid(a) y = Mul(x, s)",
        "p = Softplus(x) t = Tanh(p) y = Mul(x, t)",
        "k = Constant<value_float = 0.7071>() one = Constant<value_float = 1.0>() a = Mul(x, k) e = Erf(a) "
        "g = Add(e, one) y = Mul(x, g)",
        "k = Constant<value_float = 0.7071>() one = Constant<value_float = 1.0>() "
        "half = Constant<value_float = 0.5>() a = Mul(x, k) "
        "e = Erf(a) g = Add(e, one) h = Mul(x, half) y = Mul(h, g)",
    ],
    ids=["SiLU", "SiLU turned", "QuickGELU", "Mish", "GELU", "GELU halved"],
)
def test_gated_activations(body: str) -> None:
    source = gated_input(nodes(body)[-1], is_activated)
    assert source is not None
    assert source.name == "x"


@pytest.mark.parametrize(
    "body",
    [
        "p = GlobalAveragePool(x) s = Sigmoid(p) y = Mul(x, s)",
        "s = Sigmoid(x) y = Add(x, s)",
        "n = Neg(x) y = Mul(x, n)",
    ],
    ids=["attention over channels", "a sum", "no activation"],
)
def test_what_is_no_gated_activation(body: str) -> None:
    assert gated_input(nodes(body)[-1], is_activated) is None


@pytest.mark.parametrize("operator", ["QuantizeLinear", "DequantizeLinear"])
@pytest.mark.parametrize(
    ("dtype", "zero_point", "expected"),
    [
        ("uint8", 0, True),
        ("uint8", 128, False),
        ("int8", -128, True),
        ("int8", 0, False),
        ("uint16", 0, True),
    ],
)
def test_quantised_from_zero(operator: str, dtype: str, zero_point: int, expected: bool) -> None:
    scale = ir.Value(name="scale", const_value=ir.tensor(np.float32(0.1)))
    zero = ir.Value(name="zero", const_value=ir.tensor(np.array(zero_point, dtype)))
    assert quantized_from_zero(ir.Node("", operator, [ir.Value(name="x"), scale, zero])) is expected


def test_without_a_zero_point_the_type_decides() -> None:
    scale = ir.Value(name="scale", const_value=ir.tensor(np.float32(0.1)))
    assert quantized_from_zero(ir.Node("", "QuantizeLinear", [ir.Value(name="x"), scale]))
    for dtype, expected in ((ir.DataType.UINT8, True), (ir.DataType.INT8, False)):
        integers = ir.Value(name="q", type=ir.TensorType(dtype))
        assert quantized_from_zero(ir.Node("", "DequantizeLinear", [integers, scale])) is expected
