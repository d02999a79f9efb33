"""The first steps back from the scores, which involve only the selected class.

The cotangent of the selected logit is 1 at one class and 0 at all others. Up to the linear layer that mixes
features into classes, it stays at that class. So these steps work on the slice N×1×… of the class, and the
step through the layer reads the class's row of weights instead of multiplying by a one-hot vector.
"""

from __future__ import annotations

from dataclasses import dataclass

import onnx_ir as ir

from ..analysis.operators import facts
from ..analysis.values import Dims, known_dims
from ..authoring.ops import Ops
from .class_head import ClassHead
from .linear_layer import linear_layer
from .rules import apply_rule
from .rules.reductions import reduced_axes
from .site import ForwardOfClass, Site


@dataclass(frozen=True)
class Cotangent:
    """The gradient of the selected logit at `value`."""

    value: ir.Value
    g: ir.Value
    of_class: bool
    """Whether `g` is the slice N×1×… of the selected class, all other classes having 0."""


def seed(op: Ops, head: ClassHead, class_index: ir.Value) -> Cotangent:
    """Walk back from the logits on the slice of the class, int64 [N], as far as possible."""
    value, classes = head.logits, _classes(head.logits)
    if classes is None:
        return Cotangent(value, dense(op, value, None, class_index), of_class=False)
    forward = ForwardOfClass(op, head.path, class_index)
    g: ir.Value | None = None
    while value not in head.twins:
        layer = linear_layer(value, head.path)
        if layer is not None:
            return Cotangent(layer.source, _through(op, layer.rows(op, class_index), g, layer.source), False)
        site = _step(op, value, _ones(op, class_index, value) if g is None else g, forward, classes)
        if site is None:
            return Cotangent(value, dense(op, value, g, class_index), of_class=False)
        value, g = site.source, apply_rule(site)
    return Cotangent(value, _ones(op, class_index, value) if g is None else g, of_class=True)


def dense(op: Ops, value: ir.Value, g: ir.Value | None, class_index: ir.Value) -> ir.Value:
    """The cotangent over all classes: the class's slice `g` there and 0 elsewhere.

    Without `g` it is that of the logits themselves: 1 at the class, an index into all scores of an image.
    """
    if g is None:
        length = op.Slice(op.Shape(op.Flatten(value, axis=1)), [1], [2])
        return op.Reshape(op.OneHot(class_index, length, [0.0, 1.0]), op.Shape(value))
    rank = len(value.shape) if value.shape is not None else 2
    one_hot = op.OneHot(class_index, op.Slice(op.Shape(value), [1], [2]), [0.0, 1.0])
    return op.Mul(op.Reshape(one_hot, [0, 0, *(1,) * (rank - 2)]), g)


def _classes(logits: ir.Value) -> int | None:
    """The number of classes where axis 1 counts them and all further axes have length 1, else None."""
    dims = known_dims(logits)
    return dims[1] if dims is not None and len(dims) > 1 and set(dims[2:]) <= {1} else None


def _ones(op: Ops, class_index: ir.Value, logits: ir.Value) -> ir.Value:
    """The class's slice of the logits' own cotangent: N×1, or N×1×1×1."""
    rank = len(logits.shape) if logits.shape is not None else 2
    return op.Expand(1.0, op.Concat(op.Shape(class_index), [1] * (rank - 1), axis=0))


def _through(op: Ops, rows: ir.Value, g: ir.Value | None, source: ir.Value) -> ir.Value:
    """The gradient at the layer's input: the class's row of weights times its slice `g`."""
    rank = len(source.shape) if source.shape is not None else 2
    if rank > 2:
        rows = op.Reshape(rows, [0, 0, *(1,) * (rank - 2)])
    return rows if g is None else op.Mul(rows, g)


def _step(op: Ops, value: ir.Value, g: ir.Value, forward: ForwardOfClass, classes: int) -> Site | None:
    """The site of the step back from `value`, or None where it would leave the class's slice."""
    node = value.producer()
    if node is None or node.domain != "":
        return None
    ways = [i for i, source in enumerate(node.inputs) if source is not None and source in forward.path]
    if len(ways) != 1:
        return None
    site = Site(op, node, ways[0], node.outputs.index(value), g, forward)
    dims = known_dims(site.source)
    if dims is None or len(dims) < 2 or dims[1] != classes or not _stays_with_class(site, dims):
        return None
    return site


def _stays_with_class(site: Site, dims: Dims) -> bool:
    op_type, operator = site.node.op_type, facts(site.node.op_type)
    if operator.elementwise or operator.pools:
        return site.index == 0
    if operator.reshapes:
        return site.index == 0 and set(dims[2:]) <= {1} and _classes(site.node.outputs[0]) == dims[1]
    if op_type == "ReduceMean":
        axes = reduced_axes(site.node, len(dims))
        return site.index == 0 and len(axes) > 0 and min(axes) > 1
    if op_type in ("Add", "Sub"):
        other = site.node.inputs[1 - site.index]
        other_dims = None if other is None else known_dims(other)
        return other_dims is not None and len(other_dims) <= len(dims)
    return False
