"""Every rule against torch's autograd: a head of the operator and a linear layer, run in onnxruntime."""

from __future__ import annotations

import zlib

import numpy as np
import onnx
import pytest
import torch
from fastcam_export.cam.rules.registry import RULES
from fastcam_export.errors import GraftError
from support.cam_cases import CASES, Case
from support.cam_harness import autograd, run, with_gradient
from support.steps import knows

CLASSES = 7


def random(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """A constant whose values are away from 0, so that they can be divided by."""
    values = np.random.default_rng(zlib.crc32(name.encode())).normal(size=shape)
    return (values + 0.3 * np.sign(values)).astype(np.float32)


def build(case: Case, free: bool, constants: dict[str, np.ndarray]) -> onnx.ModelProto:
    """The model x → tap → y → Flatten → MatMul → logits; `free` frees all but the channels."""
    n, c, h, w = case.shape
    dims = f"N,{c},H,W" if free else f"{n},{c},{h},{w}"
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : {case.opset}]>\n'
        f"head (float[{dims}] x) => (float[{'N' if free else n},{CLASSES}] logits) {{\n"
        f" tap = Identity(x)\n {case.nodes}\n flat_ = Flatten<axis=1>(y)\n logits = MatMul(flat_, last_)\n}}"
    )
    for name, array in constants.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    return model


@pytest.mark.parametrize("free", [False, True], ids=["fixed", "free"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_rule_equals_autograd(case: Case, free: bool) -> None:
    if not knows(case.opset):
        pytest.skip("onnx or onnxruntime is too old for it")
    x = case.values(case.scale * np.random.default_rng(1).normal(size=case.shape)).astype(np.float32)
    constants = {name: random(case.name + name, shape) for name, shape in case.weights.items()}
    tensors = {name: torch.tensor(array, dtype=torch.float64) for name, array in constants.items()}
    features = case.reference(torch.tensor(x, dtype=torch.float64), **tensors)[0].numel()
    last = random(case.name, (features, CLASSES))
    model = build(case, free, {**constants, "last_": last})
    if free and not case.free:
        with pytest.raises(GraftError, match=r"no gradient through node .* saliency_map works"):
            with_gradient(model, "tap")
        return

    def head(value: torch.Tensor) -> torch.Tensor:
        return case.reference(value, **tensors).flatten(1) @ torch.tensor(last, dtype=torch.float64)

    classes = np.array([2, 5][: len(x)])
    g = run(with_gradient(model, "tap"), "g", {"x": x, "saliency_class": classes})
    expected = autograd(head, x, classes)
    assert g.shape == x.shape
    np.testing.assert_allclose(g, expected, rtol=0, atol=2e-5 * max(1.0, np.abs(expected).max()))


def test_every_rule_has_a_case() -> None:
    tested = set().union(*(case.operators for case in CASES))
    assert set(RULES) - tested == {"Gemm"}  # in all its forms below


@pytest.mark.parametrize("trans_a", [0, 1])
@pytest.mark.parametrize("trans_b", [0, 1])
@pytest.mark.parametrize("side", ["A", "B"])
def test_gemm(trans_a: int, trans_b: int, side: str) -> None:
    """All forms of α·A'·B' + β·C, the features in A (2×12) or in B (12×2), and always in C."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(2, 3, 2, 2)).astype(np.float32)
    weight, last = (rng.normal(size=s).astype(np.float32) for s in ((12, 5), (5, CLASSES)))
    # The features are 2×12, the weights 12×5; as B and A of the transposed product 12×2 and 5×12.
    turned = bool(trans_a) if side == "A" else not trans_b
    stored = weight.T if (trans_b if side == "A" else not trans_a) else weight
    product = ("t, w, c", "y = Identity(u)") if side == "A" else ("w, t, c", "y = Transpose<perm=[1,0]>(u)")
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 13]>\n'
        f"head (float[2,3,2,2] x) => (float[2,{CLASSES}] logits) {{\n tap = Identity(x)\n f = Flatten(tap)\n"
        f" t = {'Transpose<perm=[1,0]>' if turned else 'Identity'}(f)\n"
        f" first = Constant<value_ints=[0]>()\n fifth = Constant<value_ints=[5]>()\n"
        f" one = Constant<value_ints=[1]>()\n five = Slice(f, first, fifth, one)\n"
        f" c = {'Identity' if side == 'A' else 'Transpose<perm=[1,0]>'}(five)\n"
        f" u = Gemm<alpha=0.5,beta=2.0,transA={trans_a},transB={trans_b}>({product[0]})\n {product[1]}\n"
        " v = Tanh(y)\n logits = MatMul(v, last)\n}"
    )
    for name, array in {"w": stored, "last": last}.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))

    def head(value: torch.Tensor) -> torch.Tensor:
        flat = value.flatten(1)
        return (
            torch.tanh(0.5 * flat @ torch.tensor(weight).double() + 2 * flat[:, :5])
            @ torch.tensor(last).double()
        )

    classes = np.array([1, 6])
    g = run(with_gradient(model, "tap"), "g", {"x": x, "saliency_class": classes})
    np.testing.assert_allclose(g, autograd(head, x, classes), atol=1e-5)
