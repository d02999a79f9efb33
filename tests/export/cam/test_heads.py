"""Forms of heads: where the logits are, which gradient is used, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import onnx
import pytest
import torch
import torch.nn.functional as F
from fastcam_export.errors import GraftError
from onnx import numpy_helper
from support.cam_harness import autograd, run, session, textbook_cam, with_class_map
from support.steps import opsets

CHANNELS, CLASSES = 6, 5
RNG = np.random.default_rng(11)
WEIGHTS = {
    "w": RNG.normal(size=(CLASSES, CHANNELS)),
    "wt": RNG.normal(size=(CHANNELS, CLASSES)),
    "wc": RNG.normal(size=(CLASSES, CHANNELS, 1, 1)),
    "w3": RNG.normal(size=(CLASSES, CHANNELS, 3, 3)),
    "b": RNG.normal(size=(CLASSES,)),
    "hidden": RNG.normal(size=(8, CHANNELS)),
    "out": RNG.normal(size=(CLASSES, 8)),
}
TENSORS = {name: torch.tensor(array.astype(np.float32)).double() for name, array in WEIGHTS.items()}
CLOSED, GENERAL = "GapGradCamPlusPlus", "HeadGradient"


def linear(x: torch.Tensor) -> torch.Tensor:
    return x.mean((2, 3)) @ TENSORS["w"].T + TENSORS["b"]


def conv(x: torch.Tensor) -> torch.Tensor:
    return F.relu(F.conv2d(x, TENSORS["wc"], TENSORS["b"])).mean((2, 3))


@dataclass(frozen=True)
class Form:
    name: str
    nodes: str
    logits: Callable[[torch.Tensor], torch.Tensor] = linear
    function: str = CLOSED
    opset: int = 13
    shape: tuple[int, ...] = (CLASSES,)
    """The scores' shape behind N."""
    free: bool = True
    """Whether it is the same head at every size."""


POOL = "p = GlobalAveragePool(tap)\n f = Flatten(p)\n "
GEMM = POOL + "l = Gemm<transB=1>(f, w, b)\n "
CONV = "c = Conv(tap, wc, b)\n r = Relu(c)\n p = GlobalAveragePool(r)\n "
ONES = (1, 1)
FORMS = [
    Form("gemm", GEMM + "scores = Identity(l)"),
    Form("gemm_not_transposed", POOL + "scores = Gemm<alpha=0.5>(f, wt)",
         lambda x: 0.5 * x.mean((2, 3)) @ TENSORS["wt"]),
    Form("matmul_add", POOL + "m = MatMul(f, wt)\n scores = Add(m, b)",
         lambda x: x.mean((2, 3)) @ TENSORS["wt"] + TENSORS["b"]),
    Form("reduce_mean", "f = ReduceMean<axes=[2,3],keepdims=0>(tap)\n scores = Gemm<transB=1>(f, w, b)"),
    Form("reduce_mean_18", "a = Constant<value_ints=[-1,-2]>()\n f = ReduceMean<keepdims=0>(tap, a)\n"
         " scores = Gemm<transB=1>(f, w, b)", opset=18),
    Form("average_pool", "p = AveragePool<kernel_shape=[4,3]>(tap)\n f = Flatten(p)\n"
         " scores = Gemm<transB=1>(f, w, b)", free=False),
    Form("dropout_squeeze", "p = GlobalAveragePool(tap)\n d = Dropout(p)\n a = Constant<value_ints=[2,3]>()\n"
         " f = Squeeze(d, a)\n scores = Gemm<transB=1>(f, w, b)"),
    Form("pool_conv", "p = GlobalAveragePool(tap)\n c = Conv(p, wc, b)\n scores = Flatten(c)",
         lambda x: x.mean((2, 3)) @ TENSORS["wc"][:, :, 0, 0].T + TENSORS["b"]),
    Form("pool_conv_4d", "p = GlobalAveragePool(tap)\n scores = Conv(p, wc, b)",
         lambda x: x.mean((2, 3)) @ TENSORS["wc"][:, :, 0, 0].T + TENSORS["b"], shape=(CLASSES, *ONES)),
    Form("softmax", GEMM + "scores = Softmax(l)"),
    Form("log_softmax", GEMM + "scores = LogSoftmax<axis=1>(l)"),
    Form("sigmoid_identity", GEMM + "s = Sigmoid(l)\n scores = Identity(s)"),
    Form("softmax_reshape", "p = GlobalAveragePool(tap)\n c = Conv(p, wc, b)\n s = Softmax<axis=1>(c)\n"
         " r = Constant<value_ints=[0,-1]>()\n scores = Reshape(s, r)",
         lambda x: x.mean((2, 3)) @ TENSORS["wc"][:, :, 0, 0].T + TENSORS["b"]),
    Form("conv_classifier", CONV + "f = Flatten(p)\n scores = Softmax(f)", conv, GENERAL),
    Form("conv_classifier_4d", CONV + "scores = Softmax<axis=1>(p)", conv, GENERAL, shape=(CLASSES, *ONES)),
    Form("conv_3x3_classifier", "c = Conv<pads=[1,1,1,1]>(tap, w3)\n r = Relu(c)\n"
         " p = GlobalAveragePool(r)\n scores = Flatten(p)",
         lambda x: F.relu(F.conv2d(x, TENSORS["w3"], padding=1)).mean((2, 3)), GENERAL),
    Form("conv_max_pool", "c = Conv(tap, wc)\n p = GlobalMaxPool(c)\n scores = Flatten(p)",
         lambda x: F.conv2d(x, TENSORS["wc"]).amax((2, 3)), GENERAL),
    Form("two_layers", POOL + "h = Gemm<transB=1>(f, hidden)\n r = Relu(h)\n scores = Gemm<transB=1>(r, out)",
         lambda x: F.relu(x.mean((2, 3)) @ TENSORS["hidden"].T) @ TENSORS["out"].T, GENERAL),
    Form("activation_behind", POOL + "h = Gemm<transB=1>(f, w, b)\n scores = Relu(h)",
         lambda x: F.relu(linear(x)), GENERAL),
    Form("scaled_behind", GEMM + "two = Constant<value_float=2.0>()\n scores = Mul(l, two)",
         lambda x: 2 * linear(x), GENERAL),
    Form("scaled_per_class", GEMM + "scores = Mul(l, b)", lambda x: linear(x) * TENSORS["b"], GENERAL),
    Form("softmax_amid", GEMM + "s = Softmax(l)\n two = Constant<value_float=2.0>()\n scores = Mul(s, two)",
         lambda x: 2 * linear(x).softmax(1), GENERAL),
    Form("channels_last", "t = Transpose<perm=[0,2,3,1]>(tap)\n f = ReduceMean<axes=[1,2],keepdims=0>(t)\n"
         " m = MatMul(f, wt)\n l = Add(m, b)\n scores = Softmax(l)",
         lambda x: x.mean((2, 3)) @ TENSORS["wt"] + TENSORS["b"], GENERAL),
    Form("classes_last", "t = Transpose<perm=[0,2,3,1]>(tap)\n p = ReduceMean<axes=[1,2]>(t)\n"
         " m = MatMul(p, wt)\n scores = Add(m, b)",
         lambda x: x.mean((2, 3)) @ TENSORS["wt"] + TENSORS["b"], GENERAL, shape=(*ONES, CLASSES)),
    Form("two_paths", "m = GlobalMaxPool(tap)\n a = GlobalAveragePool(tap)\n s = Add(m, a)\n f = Flatten(s)\n"
         " scores = Gemm<transB=1>(f, w, b)",
         lambda x: (x.mean((2, 3)) + x.amax((2, 3))) @ TENSORS["w"].T + TENSORS["b"], GENERAL),
]  # fmt: skip


def build(form: Form, free: bool) -> onnx.ModelProto:
    dims, n = ("N,6,H,W", "N") if free else ("2,6,4,3", "2")
    scores = ",".join([n, *map(str, form.shape)])
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : {form.opset}]>\n'
        f"net (float[{dims}] x) => (float[{scores}] scores) {{\n tap = Identity(x)\n {form.nodes}\n}}"
    )
    for name, array in WEIGHTS.items():
        model.graph.initializer.append(numpy_helper.from_array(array.astype(np.float32), name))
    return model


@pytest.mark.parametrize(
    ("form", "free"),
    [pytest.param(form, free, id=f"{form.name}-{'free' if free else 'fixed'}")
     for form in FORMS for free in (False, True) if form.free or not free],
)  # fmt: skip
def test_form(form: Form, free: bool) -> None:
    x = RNG.normal(size=(2, CHANNELS, 4, 3)).astype(np.float32) + 0.5
    with torch.no_grad():
        best = form.logits(torch.tensor(x).double()).argmax(1).numpy()
    for method in ("gradcam++", "gradcam"):
        grown = with_class_map(build(form, free), "tap", method=method)
        if method == "gradcam++":
            assert form.function in {function.name for function in grown.functions}
        runner = session(grown)
        for classes in (None, np.array([0, 3]), np.array([4, 4])):
            (cam,) = runner.run(["cam"], {"x": x} if classes is None else {"x": x, "saliency_class": classes})
            chosen = best if classes is None else classes
            expected = textbook_cam(x, autograd(form.logits, x, chosen), method)
            np.testing.assert_allclose(cam, expected, atol=1e-4)


@pytest.mark.parametrize("opset", opsets(13, 15, 17, 18, 20, 21, 23, 24))
def test_opsets(opset: int) -> None:
    """The derived nodes are written in the model's own opset."""
    nodes = (
        "q = MaxPool<kernel_shape=[3,3],strides=[2,2],pads=[1,1,1,1]>(tap)\n c = Conv(q, wc, b)\n"
        " s = Sigmoid(c)\n p = GlobalAveragePool(s)\n scores = Flatten(p)"
    )

    def logits(x: torch.Tensor) -> torch.Tensor:
        return F.conv2d(F.max_pool2d(x, 3, 2, 1), TENSORS["wc"], TENSORS["b"]).sigmoid().mean((2, 3))

    x = RNG.normal(size=(2, CHANNELS, 4, 3)).astype(np.float32)
    form = Form("pooled", nodes, logits, GENERAL, opset=opset)
    cam = run(with_class_map(build(form, True), "tap"), "cam", {"x": x, "saliency_class": np.array([2, 1])})
    np.testing.assert_allclose(
        cam, textbook_cam(x, autograd(logits, x, np.array([2, 1])), "gradcam++"), atol=1e-4
    )


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        (GEMM + "c = Cos(l)\n scores = Identity(c)", r"node 'c' \(Cos\): there is no rule"),
        (
            GEMM + "q, s, z = DynamicQuantizeLinear(l)\n t = Transpose(q)\n i = MatMulInteger(t, q)\n"
            "scores = Cast<to=1>(i)",
            r"\(MatMulInteger\): it computes integers: quantise in the QDQ format",
        ),
        (GEMM + "one = Constant<value_int=1>()\n scores = CumSum(l, one)", r"\(CumSum\): there is no rule"),
        (
            "p = GlobalAveragePool(x)\n f = Flatten(p)\n scores = Gemm<transB=1>(f, w, b)",
            "do not depend on",
        ),
        (POOL + "i = Cast<to=7>(f)\n scores = Gather(b, i)", "its input 'i' depends on the picture"),
    ],
    ids=["unknown", "integers", "unknown_at_the_end", "elsewhere", "index"],
)
def test_refused(nodes: str, message: str) -> None:
    """One line that names the node, its operator, and what still works."""
    model = build(Form("refused", nodes), True)
    with pytest.raises(GraftError, match=message) as error:
        with_class_map(model, "tap")
    assert "\n" not in str(error.value)
    assert "saliency_map works without class maps" in str(error.value) or "no class map" in str(error.value)


def test_subgraphs_are_refused() -> None:
    """The gradient also flows through a value that an If captures."""
    model = build(Form("plain", GEMM + "scores = Identity(l)"), True)
    branch = onnx.parser.parse_graph("g () => (float[N,5] r) { r = Neg(l) }")
    node = onnx.helper.make_node("If", ["yes"], ["chosen"], "choice", then_branch=branch, else_branch=branch)
    model.graph.node.insert(len(model.graph.node) - 1, node)
    model.graph.node[-1].input[0] = "chosen"
    model.graph.initializer.append(numpy_helper.from_array(np.array(True), "yes"))
    with pytest.raises(GraftError, match=r"node 'choice' \(If\): there is no rule"):
        with_class_map(model, "tap")
