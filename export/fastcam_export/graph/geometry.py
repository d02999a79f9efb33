"""Where a tensor's pixels are: its layout, and how far it is down-sampled from the picture."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import onnx_ir as ir

from .constants import constant
from .dominators import inputs_of
from .ends import Ends
from .optimised import CONVOLUTIONS
from .shapes import Shapes

STRIDED = CONVOLUTIONS | {"ConvTranspose", "MaxPool", "AveragePool", "LpPool", "ConvInteger", "QLinearConv"}
TO_NHWC, TO_NCHW = [0, 2, 3, 1], [0, 3, 1, 2]


@dataclass(frozen=True)
class Geometry:
    """Layout, down-sampling and size of the picture's content in one tensor."""

    layout: str | None
    """`NCHW`, `NHWC`, or None where the pixels are no longer two axes (tokens, vectors)."""
    stride: tuple[float, float]
    """Pixels of the picture per pixel of the tensor. It names the scale: unlike the size, it does not
    change with padding or valid convolutions (149 and 147 in Inception are both stride 2)."""
    size: tuple[int, int]


def geometries(ends: Ends, shapes: Shapes) -> dict[str, Geometry]:
    """The geometry of every tensor on the picture's path, by name."""
    known = {ends.image.name or "": Geometry(ends.layout, (1.0, 1.0), ends.size)}
    for node in ends.path:
        sources = [known[v.name] for v in inputs_of(node) if v.name in known]
        if not sources:
            continue
        # Of a tensor and its gate (C×1×1), the larger one has the pixels.
        source = max(sources, key=lambda g: (g.layout is not None, g.size[0] * g.size[1]))
        for value in node.outputs:
            if value.name:
                known[value.name] = _through(node, source, len(sources), shapes.get(value.name), shapes)
    return known


def cut_size(ends: Ends, shapes: Shapes) -> tuple[int, int] | None:
    """The height and width that a network cuts its picture to in front of its first convolution."""
    known = geometries(ends, shapes)
    for node in ends.path:
        if node.op_type in STRIDED:
            break
        if node.op_type != "Slice" or node.inputs[0] is None:
            continue
        before, after = known.get(node.inputs[0].name or ""), known.get(node.outputs[0].name or "")
        steps = constant(node.inputs[4]) if len(node.inputs) > 4 else None
        # Every second pixel (a YOLO's Focus) is the whole picture, only smaller.
        whole = steps is not None and np.any(steps != 1)
        if before and after and after.layout is not None and after.size != before.size and not whole:
            return after.size
    return None


def spatial_size(shape: tuple[int, ...], layout: str | None) -> tuple[int, int]:
    """Height and width of a rank-4 shape."""
    return (shape[1], shape[2]) if layout == "NHWC" else (shape[2], shape[3])


def _through(
    node: ir.Node, source: Geometry, sources: int, shape: tuple[int, ...] | None, shapes: Shapes
) -> Geometry:
    if shape is None or len(shape) < 4:
        return replace(source, layout=None)
    if node.op_type in STRIDED:
        return _strided(node, source, shape, shapes)
    if len(shape) > 4:
        return source  # a channel shuffle passes through rank 5 and comes back
    if node.op_type == "Transpose":
        return replace(source, layout=_transposed(source.layout, list(node.attributes.get_ints("perm", ()))))
    if source.layout is None or (node.op_type == "MatMul" and sources > 1):
        return replace(source, layout=None)
    size = spatial_size(shape, source.layout)
    if node.op_type == "Reshape" and size != source.size:
        return replace(source, layout=None)
    return Geometry(source.layout, _rescaled(source, size), size)


def _strided(node: ir.Node, source: Geometry, shape: tuple[int, ...], shapes: Shapes) -> Geometry:
    before = shapes.get(node.inputs[0].name or "") if node.inputs[0] is not None else None
    # These operators read NCHW by definition, so a layout that was lost is found again here.
    stride = _rescaled(source, spatial_size(before, "NCHW")) if before is not None else source.stride
    steps = list(node.attributes.get_ints("strides", ())) or [1, 1]
    if node.op_type == "ConvTranspose":
        stride = (stride[0] / steps[0], stride[1] / steps[1])
    else:
        stride = (stride[0] * steps[0], stride[1] * steps[1])
    return Geometry("NCHW", stride, spatial_size(shape, "NCHW"))


def _rescaled(source: Geometry, size: tuple[int, int]) -> tuple[float, float]:
    """The stride after an operator without strides of its own: only a clear change of size counts."""

    def factor(before: int, after: int) -> float:
        if after and before / after >= 1.5:
            return float(round(before / after))
        return 1.0 / round(after / before) if before and after / before >= 1.5 else 1.0

    return (
        source.stride[0] * factor(source.size[0], size[0]),
        source.stride[1] * factor(source.size[1], size[1]),
    )


def _transposed(layout: str | None, perm: list[int]) -> str | None:
    if layout == "NCHW" and perm == TO_NHWC:
        return "NHWC"
    if layout == "NHWC" and perm == TO_NCHW:
        return "NCHW"
    return None
