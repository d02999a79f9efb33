"""The geometry of a tensor: its layout, and how far it is down-sampled from the picture."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import onnx_ir as ir

from .dominators import inputs_of
from .ends import Ends
from .operators import facts
from .shapes import Shapes
from .values import constant


@dataclass(frozen=True)
class TensorGeometry:
    """Layout, down-sampling and size of one tensor."""

    layout: str | None
    """`NCHW`, `NHWC` or another order of these axes, or None where the pixels are no longer two axes
    (tokens, vectors)."""
    stride: tuple[float, float]
    """Pixels of the picture per pixel of the tensor. It identifies the scale: unlike the size, it does not
    change with padding or valid convolutions (149 and 147 in Inception are both stride 2)."""
    size: tuple[int, int]
    whole: tuple[int, int] | None = None
    """The size of the tensor that this one was cropped from, if it shows only a part of the picture."""
    foreign: bool = False
    """Whether its axes are not the picture's, as in an attention matrix: positions × positions."""


def geometries(ends: Ends, shapes: Shapes) -> dict[str, TensorGeometry]:
    """The geometry of every tensor on the picture's path, by name."""
    known = {ends.image.name or "": TensorGeometry(ends.layout, (1.0, 1.0), ends.size)}
    # No layer sees what is cropped before the first convolution, so the rest counts as the picture.
    picture = (0, 0)
    folded: dict[str | None, _Folded] = {}
    for node in ends.path:
        operands = [v.name for v in inputs_of(node) if v.name in known]
        if not operands:
            continue
        if facts(node.op_type).strides:
            picture = ends.size
        sources = [known[name] for name in operands]
        source = _main(sources, [math.prod(shapes.get(name, ())) for name in operands])
        for value in node.outputs:
            if not value.name:
                continue
            shape = shapes.get(value.name)
            if facts(node.op_type).matrix_product and len(sources) > 1:
                # Queries times keys are positions × positions; their product with the values has positions.
                crossed = not any(g.foreign for g in sources)
                known[value.name] = replace(source, layout=None, foreign=crossed)
            elif shape is None or len(shape) < 4:
                known[value.name] = replace(source, layout=None)
            elif len(shape) == 4:
                geometry = _through(node, source, shape, shapes, picture)
                # The batch size has changed: these are windows.
                lost = source.layout is None and shape[0] != ends.shape[0]
                known[value.name] = source if lost else geometry
            else:
                known[value.name] = source  # a channel shuffle passes through rank 5 and comes back
            origin = _before_reshape(node, shape, known, shapes, folded)
            if origin is not None and known[value.name].layout is None:
                if shape == origin.shape:
                    known[value.name] = origin.geometry
                else:
                    folded[value.name] = origin
    return known


@dataclass(frozen=True)
class _Folded:
    """What a Reshape took the pixels from. As long as all elements are in order, a Reshape brings it back."""

    shape: tuple[int, ...]
    geometry: TensorGeometry


def _before_reshape(
    node: ir.Node,
    shape: tuple[int, ...] | None,
    known: Mapping[str, TensorGeometry],
    shapes: Shapes,
    folded: Mapping[str | None, _Folded],
) -> _Folded | None:
    """The rank-4 tensor whose elements, still in its order, are those of the node's result.

    A group normalisation is written as an instance normalisation of N×groups×rest, between two Reshapes.
    """
    source = node.inputs[0].name if node.inputs and node.inputs[0] is not None else None
    operator, before = facts(node.op_type), shapes.get(source or "")
    if not (operator.reshapes or operator.elementwise or (operator.in_order and before == shape)):
        return None
    if source in folded or not operator.reshapes or before is None or len(before) != 4:
        return folded.get(source)
    geometry = known.get(source or "")
    return _Folded(before, geometry) if geometry is not None and geometry.layout is not None else None


def cut_size(ends: Ends, known: Mapping[str, TensorGeometry]) -> tuple[int, int] | None:
    """The height and width that a network crops its picture to before its first convolution."""
    for node in ends.path:
        if facts(node.op_type).strides:
            break
        if node.op_type != "Slice" or node.inputs[0] is None:
            continue
        before, after = known.get(node.inputs[0].name or ""), known.get(node.outputs[0].name or "")
        if not before or not after or after.layout is None or after.size == before.size:
            continue
        # Every second pixel (Focus in YOLO networks) is still the whole picture.
        if _steps(node, before) == (1, 1):
            return after.size
    return None


def spatial_size(shape: tuple[int, ...], layout: str) -> tuple[int, int]:
    """Height and width of a rank-4 shape."""
    return shape[layout.index("H")], shape[layout.index("W")]


def _main(sources: list[TensorGeometry], elements: list[int]) -> TensorGeometry:
    """The operand of a node that carries the pixels."""
    # The larger of a tensor and its gate (C×1×1). If a crop and a whole have the same size, the whole.
    source = max(sources, key=lambda g: (g.layout is not None, g.size[0] * g.size[1], g.whole is None))
    largest = [g for g, count in zip(sources, elements, strict=True) if count == max(elements)]
    return replace(source, foreign=source.layout is None and any(g.foreign for g in largest))


def _through(
    node: ir.Node, source: TensorGeometry, shape: tuple[int, ...], shapes: Shapes, picture: tuple[int, int]
) -> TensorGeometry:
    if facts(node.op_type).strides:
        return _strided(node, source, shape, shapes)
    if source.layout is None:
        return source
    if node.op_type == "Transpose":
        perm = node.attributes.get_ints("perm", (3, 2, 1, 0))
        return replace(source, layout="".join(source.layout[axis] for axis in perm))
    size = spatial_size(shape, source.layout)
    if node.op_type == "Reshape" and size != source.size:
        return replace(source, layout=None)
    smaller = size[0] < source.size[0] or size[1] < source.size[1]
    if node.op_type == "Pad" or (facts(node.op_type).cuts and smaller):
        return _cut(node, source, size, picture)
    if node.op_type == "Concat" and source.whole is not None:
        # The parts of a whole are joined again.
        return replace(source, size=size, whole=source.whole if size != source.whole else None)
    return replace(source, stride=_rescaled(source, size), size=size)


def _strided(node: ir.Node, source: TensorGeometry, shape: tuple[int, ...], shapes: Shapes) -> TensorGeometry:
    before = shapes.get(node.inputs[0].name or "") if node.inputs[0] is not None else None
    # These operators read NCHW by definition, so here a lost layout is known again.
    if before is None or len(before) != 4 or source.foreign or source.layout not in (None, "NCHW"):
        return replace(source, layout=None)
    stride = _rescaled(source, spatial_size(before, "NCHW"))
    if source.layout is None and stride[0] / source.stride[0] != stride[1] / source.stride[1]:
        return source  # stretched, such as positions × channels
    steps = list(node.attributes.get_ints("strides", ())) or [1, 1]
    if node.op_type == "ConvTranspose":
        stride = (stride[0] / steps[0], stride[1] / steps[1])
    else:
        stride = (stride[0] * steps[0], stride[1] * steps[1])
    return replace(source, layout="NCHW", stride=stride, size=spatial_size(shape, "NCHW"))


def _cut(
    node: ir.Node, source: TensorGeometry, size: tuple[int, int], picture: tuple[int, int]
) -> TensorGeometry:
    """The geometry after a crop: the whole picture, perhaps with fewer pixels, or a part of it."""
    steps = _steps(node, source)
    stride = (source.stride[0] * steps[0], source.stride[1] * steps[1])
    # A valid convolution also removes one row at each side, and removing padding removes no content.
    part = any(
        before / step - after > 2 and after * pixels < limit
        for before, step, after, pixels, limit in zip(source.size, steps, size, stride, picture, strict=True)
    )
    return replace(source, stride=stride, size=size, whole=source.size if part else source.whole)


def _steps(node: ir.Node, source: TensorGeometry) -> tuple[int, int]:
    """The steps of a Slice along rows and columns."""
    if node.op_type != "Slice" or len(node.inputs) < 5:
        return 1, 1
    axes = constant(node.inputs[3]) if node.inputs[3] is not None else np.arange(4)
    steps = constant(node.inputs[4])
    if axes is None or steps is None:
        return 1, 1
    by_axis = dict(zip((axes % 4).tolist(), np.abs(steps).tolist(), strict=False))
    layout = source.layout or "NCHW"
    return by_axis.get(layout.index("H"), 1), by_axis.get(layout.index("W"), 1)


def _rescaled(source: TensorGeometry, size: tuple[int, int]) -> tuple[float, float]:
    """The stride after an operator without strides. Only a clear change of size counts."""

    def factor(before: int, after: int) -> float:
        if after and before / after >= 1.5:
            return float(round(before / after))
        return 1.0 / round(after / before) if before and after / before >= 1.5 else 1.0

    return (
        source.stride[0] * factor(source.size[0], size[0]),
        source.stride[1] * factor(source.size[1], size[1]),
    )
