"""Groups of nodes with one meaning."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import pytest
from fastcam_export.analysis.operators import facts
from fastcam_export.analysis.patterns import gated_input, largest_dequantized, quantized_from_zero
from onnx import parser
from onnx.reference import ReferenceEvaluator


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


@pytest.mark.parametrize(
    ("dtype", "zero_point", "scale"),
    [
        ("uint8", 0, 0.1),
        ("uint8", 128, 0.1),
        ("int8", -128, 3.0),
        ("int8", -3, 1e-4),
        ("uint16", 7, 0.1),
        ("uint8", [0, 200, 3, 9], [0.1, 0.5, 0.2, 0.3]),
    ],
)
def test_the_largest_dequantised_number(dtype: str, zero_point: object, scale: object) -> None:
    given = np.array(zero_point, dtype), np.array(scale, np.float32)
    zero, scales = (
        ir.Value(name=name, const_value=ir.tensor(v)) for name, v in zip("zs", given, strict=True)
    )
    found = largest_dequantized(ir.Node("", "DequantizeLinear", [ir.Value(name="x"), scales, zero]))
    vector = "" if given[0].ndim == 0 else "4"
    model = parser.parse_model(f"""<ir_version: 10, opset_import: ["" : 21]>
        net ({dtype}[1,4] x, float[{vector}] s, {dtype}[{vector}] z) => (float[1,4] y) {{
            y = DequantizeLinear (x, s, z)
        }}""")
    every = np.full((1, 4), np.iinfo(dtype).max, dtype)
    (largest,) = ReferenceEvaluator(model).run(None, {"x": every, "s": given[1], "z": given[0]})
    assert found == pytest.approx(largest.max(), rel=1e-6)


@pytest.mark.parametrize("scale", [0.0, -0.1])
def test_a_scale_that_is_not_positive_bounds_nothing(scale: float) -> None:
    scales = ir.Value(name="s", const_value=ir.tensor(np.float32(scale)))
    zero = ir.Value(name="z", const_value=ir.tensor(np.uint8(0)))
    assert largest_dequantized(ir.Node("", "DequantizeLinear", [ir.Value(name="x"), scales, zero])) is None
