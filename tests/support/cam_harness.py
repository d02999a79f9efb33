"""Add class maps to a model and run them in onnxruntime; compute the same in float64 with torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime as ort
import torch
from fastcam_export.analysis.scores import find_logits
from fastcam_export.analysis.taps import Tap
from fastcam_export.authoring.branch import Branch
from fastcam_export.authoring.ops import Ops
from fastcam_export.cam import class_activation_map, minmax
from fastcam_export.cam.class_head import find_head, infer_head
from fastcam_export.cam.gradient import head_gradient
from fastcam_export.cam.outline import outline

CLASS = "saliency_class"


def with_class_map(
    proto: onnx.ModelProto,
    tap: str,
    *,
    method: str = "gradcam++",
    epsilon: float = 0.0,
    normalised: bool = True,
) -> onnx.ModelProto:
    """The model with its own outputs and `cam`, [N,h,w], before upsampling."""
    branch, value, logits, wanted = _branch(proto, tap)
    features = Tap(value, "NCHW", (), "Identity", nonnegative=False, bound=None, why="named by the test")
    cam = class_activation_map(
        branch, features, logits, wanted, shapes={}, method=method, epsilon=epsilon
    ).value
    if normalised:
        cam = branch.call(minmax(branch.opset), cam, name="cam/minmax")
    branch.output(cam, "cam", (None, None, None), ir.DataType.FLOAT)
    return _finished(branch, proto)


def with_gradient(proto: onnx.ModelProto, tap: str) -> onnx.ModelProto:
    """The model with the output `g`, the gradient of the class's logit at the tap."""
    branch, value, logits, wanted = _branch(proto, tap)
    head = find_head(branch.model.graph, value, logits)
    infer_head(branch.model.graph, head, {value.name or "": (None, None, None, None)})
    op = Ops(branch.opset)
    gradient, of_class = head_gradient(op, head, wanted)
    assert not of_class
    step, inputs = outline(op, "HeadGradient", gradient, "g", "")
    g = branch.call(step, *inputs, name="g")
    branch.output(g, "g", (None, None, None, None), ir.DataType.FLOAT)
    return _finished(branch, proto)


def _branch(proto: onnx.ModelProto, tap: str) -> tuple[Branch, ir.Value, ir.Value, ir.Value]:
    model = ir.from_proto(proto)
    branch = Branch(model, model.graph.opset_imports[""])
    values = {value.name: value for node in model.graph for value in node.outputs}
    wanted = branch.input(CLASS, ir.DataType.INT64, ("saliency_n",), default=np.array([-1]))
    return branch, values[tap], find_logits(model.graph.outputs[0])[0], wanted


def _finished(branch: Branch, proto: onnx.ModelProto) -> onnx.ModelProto:
    grown = onnx.ModelProto()
    grown.CopyFrom(proto)
    grown.ir_version = max(grown.ir_version, 8)
    branch.append_to(grown, {})
    onnx.checker.check_model(grown)
    return grown


def session(proto: onnx.ModelProto) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run(proto: onnx.ModelProto, output: str, feeds: Mapping[str, np.ndarray]) -> np.ndarray:
    """One output of one run."""
    (result,) = session(proto).run([output], dict(feeds))
    return result


def autograd(
    head: Callable[[torch.Tensor], torch.Tensor], features: np.ndarray, classes: np.ndarray
) -> np.ndarray:
    """The gradient of each image's class score at the features, float64."""
    x = torch.tensor(features, dtype=torch.float64, requires_grad=True)
    scores = head(x).flatten(1)
    scores[torch.arange(len(x)), torch.as_tensor(classes)].sum().backward()
    assert x.grad is not None
    return x.grad.numpy()


def textbook_cam(features: np.ndarray, g: np.ndarray, method: str, epsilon: float = 0.0) -> np.ndarray:
    """relu(Σ weight·A) in float64, as the papers write it, min–max normalised per image."""
    a, g = np.asarray(features, np.float64), np.asarray(g, np.float64)
    if method == "gradcam":
        weights = g.mean(axis=(2, 3))
    else:
        denominator = 2 * g**2 + a.sum(axis=(2, 3), keepdims=True) * g**3 + epsilon
        alpha = np.divide(g**2, denominator, out=np.zeros_like(g), where=g != 0)
        weights = (alpha * np.maximum(g, 0)).sum(axis=(2, 3))
    cam = np.maximum(np.einsum("nk,nkhw->nhw", weights, a), 0)
    return normalise(cam)


def normalise(cam: np.ndarray) -> np.ndarray:
    low = cam.min(axis=(1, 2), keepdims=True)
    span = cam.max(axis=(1, 2), keepdims=True) - low
    return np.divide(cam - low, span, out=np.zeros_like(cam), where=span > 0)
