"""The table of operator facts, checked by running the operators in onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from fastcam_export.analysis.operators import OPERATORS, Operator, Sign, facts
from onnx import TensorProto, helper
from support.steps import knows

OPSET = 22
MICROSOFT = {"FastGelu", "QuickGelu", "BiasGelu", "FusedConv", "FusedGemm", "FusedMatMul"}
"""Operators of onnxruntime alone, which `onnx.defs` does not know."""
REPLACED = {"Upsample": 9}
"""Operators of older opsets, and the last opset that has them."""
NOT_RUN = {"Swish", "DeformConv", "ConvInteger", "QLinearConv", *REPLACED}
"""Operators of opsets that onnxruntime does not run yet, and those that need integers or offsets."""
SHAPE = (2, 4, 6, 6)

_RANDOM = np.random.default_rng(7)
INPUT = (_RANDOM.standard_normal(SHAPE) * 3).astype(np.float32)

ATTRIBUTES: Mapping[str, Mapping[str, Any]] = {
    "Cast": {"to": TensorProto.DOUBLE},
    "Transpose": {"perm": [0, 2, 3, 1]},
    "DepthToSpace": {"blocksize": 2},
    "SpaceToDepth": {"blocksize": 2},
    "MaxPool": {"kernel_shape": [3, 3], "strides": [2, 2]},
    "AveragePool": {"kernel_shape": [3, 3], "strides": [2, 2]},
    "LpPool": {"kernel_shape": [3, 3], "strides": [2, 2]},
    "Concat": {"axis": 1},
    "Split": {"axis": 1, "num_outputs": 2},
    "LRN": {"size": 3},
    "Resize": {"mode": "linear"},
    "Conv": {"strides": [2, 2]},
    "FusedConv": {"activation": "Relu", "strides": [2, 2]},
    "ConvTranspose": {"strides": [2, 2]},
    "FusedGemm": {"activation": "Relu", "transB": 1},
    "Gemm": {"transB": 1},
    "Einsum": {"equation": "nchw,ck->nkhw"},
}
WEIGHTS = _RANDOM.standard_normal((4, 4, 3, 3)).astype(np.float32)
FURTHER: Mapping[str, tuple[np.ndarray | None, ...]] = {
    "PRelu": (np.array([0.1, 0.2, 0.3, 0.4], np.float32).reshape(4, 1, 1),),
    "BiasGelu": (np.ones(6, np.float32),),
    "Clip": (np.float32(-1), np.float32(2)),
    "QuantizeLinear": (np.float32(0.25), np.uint8(128)),
    "DequantizeLinear": (np.float32(0.25), np.int8(3)),
    "Reshape": (np.array([2, -1]),),
    "Squeeze": (np.array([1]),),
    "Unsqueeze": (np.array([1]),),
    "Slice": (np.array([1, 1]), np.array([4, 5]), np.array([2, 3])),
    "Gather": (np.array([1, 0]),),
    "Pad": (np.array([0, 0, 1, 1, 0, 0, 0, 0]),),
    "Expand": (np.array([2, 4, 6, 6]),),
    "Tile": (np.array([1, 1, 2, 1]),),
    "Resize": (None, np.array([1, 1, 2, 2], np.float32)),
    "Concat": (np.abs(INPUT),),
    "Conv": (WEIGHTS,),
    "FusedConv": (WEIGHTS,),
    "ConvTranspose": (WEIGHTS,),
    "Gemm": (WEIGHTS.reshape(6, -1)[:, :6].copy(), np.zeros(6, np.float32)),
    "FusedGemm": (WEIGHTS.reshape(6, -1)[:, :6].copy(), np.zeros(6, np.float32)),
    "MatMul": (WEIGHTS.reshape(6, -1)[:, :6].copy(),),
    "MatMulInteger": (np.round(WEIGHTS.reshape(6, -1)[:, :6] * 20).astype(np.int8),),
    "FusedMatMul": (WEIGHTS.reshape(6, -1)[:, :6].copy(),),
    "Einsum": (WEIGHTS[:, :, 0, 0].copy(),),
    "InstanceNormalization": (np.ones(4, np.float32), np.zeros(4, np.float32)),
    "LayerNormalization": (np.ones(6, np.float32),),
    "Add": (np.abs(INPUT),),
    "Sub": (np.abs(INPUT),),
    "Mul": (np.abs(INPUT) + 1,),
    "Div": (np.abs(INPUT) + 1,),
    "Sum": (np.abs(INPUT),),
    "Max": (np.abs(INPUT),),
    "Min": (np.abs(INPUT),),
    "BatchNormalization": tuple(np.abs(_RANDOM.standard_normal(4)).astype(np.float32) for _ in range(4)),
}
"""The inputs after the first one."""
INTEGER_INPUT = {"DequantizeLinear", "MatMulInteger"}


def run(name: str, x: np.ndarray, **attributes: Any) -> np.ndarray:
    """The first output of an operator on `x` and the further inputs of the table above."""
    further = FURTHER.get(name, ())
    names = ["x", *("" if value is None else f"i{k}" for k, value in enumerate(further))]
    domain = "com.microsoft" if name in MICROSOFT else ""
    outputs = ["y", "z"] if name == "Split" else ["y"]
    settings = {**ATTRIBUTES.get(name, {}), **attributes}
    node = helper.make_node(name, names, outputs, domain=domain, **settings)
    weights = [
        onnx.numpy_helper.from_array(np.asarray(value), f"i{k}")
        for k, value in enumerate(further)
        if value is not None
    ]
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    graph = helper.make_graph(
        [node],
        "one",
        [helper.make_tensor_value_info("x", kind, x.shape)],
        [onnx.ValueInfoProto(name="y")],
        weights,
    )
    opsets = [helper.make_opsetid("", REPLACED.get(name, OPSET)), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(["y"], {"x": x})[0])


def given(name: str, x: np.ndarray = INPUT) -> np.ndarray:
    """`x` as the operator takes it."""
    if name in INTEGER_INPUT:
        return np.clip(np.round(x * 20), -128, 127).astype(np.int8)
    if name in ("Gemm", "FusedGemm"):
        return x.reshape(-1, 6)
    return x[:, :1] if name == "Squeeze" else x


def rows(*wanted: str) -> list[Any]:
    """The operators for which a fact holds and that onnxruntime runs, as parameters of a test."""
    found = [
        row for row in OPERATORS.values()
        if row.name not in NOT_RUN and any(getattr(row, fact) for fact in wanted)
    ]  # fmt: skip
    return [pytest.param(row, id=row.name) for row in found]


@pytest.mark.parametrize("name", OPERATORS)
def test_every_row_is_an_operator(name: str) -> None:
    assert OPERATORS[name].name == name
    if name in MICROSOFT:
        with pytest.raises(onnx.defs.SchemaError):
            onnx.defs.get_schema(name)
        assert run(name, given(name)).size, "onnxruntime knows it"
    elif name == "Swish" and not knows(24):
        pytest.skip("onnx is too old for it")
    else:
        assert onnx.defs.get_schema(name, REPLACED.get(name, onnx.defs.onnx_opset_version())).name == name


def test_an_operator_without_a_row_has_no_facts() -> None:
    assert facts("NoSuchOperator") == Operator("NoSuchOperator")


@pytest.mark.parametrize("row", rows("sign"))
def test_signs(row: Operator) -> None:
    low = float(run(row.name, given(row.name)).astype(np.float64).min())
    non_negative = float(run(row.name, np.abs(given(row.name))).astype(np.float64).min())
    if row.sign == Sign.NON_NEGATIVE:
        assert low >= 0
    elif row.sign == Sign.SIGNED:
        assert low < 0 <= non_negative
    elif row.name == "DequantizeLinear":
        assert low < 0  # its sign is that of the integers minus their zero point
    else:
        assert non_negative >= 0
        if row.name not in ("LpPool", "Max"):
            negative = run(row.name, -2 * np.abs(given(row.name)))
            assert negative.min() < 0, "the sign of the input is seen in the result"


@pytest.mark.parametrize("row", rows("elementwise"))
def test_elementwise_operators_treat_every_element_alike(row: Operator) -> None:
    x = given(row.name)
    if row.name in ("Not", "And", "Or", "Xor"):
        x = x > 0
    if row.name in ("Log", "Sqrt"):
        x = np.abs(x)
    order = np.random.default_rng(3).permutation(x.size)
    whole = run(row.name, x).reshape(-1)
    np.testing.assert_array_equal(
        run(row.name, x.reshape(-1)[order].reshape(x.shape)).reshape(-1), whole[order]
    )


@pytest.mark.slow
@pytest.mark.parametrize("row", rows("mixes"))
def test_mixing_operators_read_many_elements(row: Operator) -> None:
    x = given(row.name)
    touched = np.zeros(x.shape, bool)
    whole = run(row.name, x)
    element = np.unravel_index(int(np.argmax(whole)), whole.shape)
    for place in np.ndindex(*x.shape):
        changed = x.copy()
        changed[place] += 50 if changed[place] < 0 else -50  # within int8, too
        touched[place] = run(row.name, changed)[element] != whole[element]
    assert touched.sum() > 1


@pytest.mark.parametrize("row", rows("upper_bound"))
def test_upper_bounds(row: Operator) -> None:
    large = run(row.name, INPUT * 100)
    assert large.max() <= (row.upper_bound or 0)
    assert run(row.name, INPUT).max() > 0.5 * (row.upper_bound or 0) * (row.name != "Softmax")


@pytest.mark.parametrize("row", rows("keeps_bound"))
def test_kept_bounds(row: Operator) -> None:
    x = np.abs(INPUT)
    assert run(row.name, x).max() <= x.max() * (1 + 1e-6)


@pytest.mark.parametrize("row", rows("copies", "reshapes"))
def test_copies_and_reshapes_keep_the_elements_in_order(row: Operator) -> None:
    x = given(row.name)
    y = run(row.name, x)
    if row.name == "QuantizeLinear":
        y = (y.astype(np.float32) - 128) * 0.25
    if row.name == "DequantizeLinear":
        y = y / np.float32(0.25) + 3
    tolerance = 0.125 if row.name == "QuantizeLinear" else 0
    np.testing.assert_allclose(y.reshape(-1), x.reshape(-1), atol=tolerance, rtol=0)
    assert (y.shape == x.shape) == (not row.reshapes)


@pytest.mark.parametrize("row", rows("in_order"))
def test_every_element_of_an_ordered_result_answers_most_to_its_own(row: Operator) -> None:
    whole = run(row.name, INPUT)
    assert whole.shape == INPUT.shape
    for place in ((0, 0, 0, 0), (0, 3, 2, 5), (1, 1, 4, 2)):
        changed = INPUT.copy()
        changed[place] += 0.01
        answer = np.abs(run(row.name, changed) - whole)
        assert np.unravel_index(int(answer.argmax()), answer.shape) == place


@pytest.mark.parametrize("row", rows("pools", "per_pixel"))
def test_pooling_keeps_channels_apart_and_lrn_keeps_pixels_apart(row: Operator) -> None:
    changed = INPUT.copy()
    changed[:, 1, 2, 2] += 50
    touched = run(row.name, changed) != run(row.name, INPUT)
    axes = (0, 2, 3) if row.pools else (0, 1)
    expected = np.zeros(touched.any(axis=axes).shape, bool)
    expected[1 if row.pools else (2, 2)] = True
    np.testing.assert_array_equal(touched.any(axis=axes), expected)


@pytest.mark.parametrize("row", rows("strides"))
def test_strides_change_the_size(row: Operator) -> None:
    schema = onnx.defs.get_schema(row.name.replace("Fused", ""))
    assert "strides" in schema.attributes
    size = run(row.name, INPUT).shape[2:]
    assert size == ((13, 13) if row.name == "ConvTranspose" else (2, 2))


@pytest.mark.parametrize("row", rows("weight_input"))
def test_weights_are_where_the_row_says(row: Operator) -> None:
    schema = onnx.defs.get_schema(row.name.replace("Fused", ""))
    assert schema.inputs[row.weight_input or 0].name.upper() == "W"


@pytest.mark.parametrize("row", rows("scores_are"))
def test_what_scores_are(row: Operator) -> None:
    logits = INPUT[:, :, 0, 0] / 10
    scores = run(row.name, logits).astype(np.float64)
    if row.scores_are == "probabilities":
        assert scores.min() >= 0
        assert scores.max() <= 1
    else:
        softmax = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(softmax, run("Softmax", logits), rtol=1e-5)


@pytest.mark.parametrize("name", sorted(name for name, row in OPERATORS.items() if not row.has_gradient))
def test_operators_without_a_gradient_give_integers_or_steps(name: str) -> None:
    if name in ("Sign", "Floor", "Ceil", "Round"):
        y = run(name, INPUT)
        np.testing.assert_array_equal(run(name, INPUT + np.float32(1e-4) * (np.floor(INPUT) < INPUT)), y)
    else:
        kinds = onnx.defs.get_schema(name).outputs[0].types
        discrete = {"tensor(bool)", "tensor(int64)"} & set(kinds)
        made_up = name in ("ConstantOfShape", "Range", "EyeLike", "OneHot")
        assert discrete
        assert made_up or set(kinds) <= {"tensor(bool)", "tensor(int64)"}
