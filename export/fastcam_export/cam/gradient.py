"""The gradient of the selected logit at the tap, as nodes of the graph."""

from __future__ import annotations

import onnx_ir as ir

from ..authoring.ops import Ops
from .class_head import ClassHead
from .rules import apply_rule
from .seed import Cotangent, seed
from .site import Forward, Site


def head_gradient(op: Ops, head: ClassHead, class_index: ir.Value) -> tuple[ir.Value, bool]:
    """Walk the head backwards once and sum the gradients that arrive at the tap.

    The nodes read the values of the forward pass and recompute none. `class_index` is int64 [N].

    Returns:
        The gradient of the selected logit at the tap, float32 [N,C,h,w], and False. If only the channel of
        the class has a gradient: the gradient of that channel, [N,1,h,w], and True.

    Raises:
        GraftError: An operator of the head has no rule.
    """
    start = seed(op, head, class_index)
    return (start.g, True) if start.of_class else (walk_back(op, head, start), False)


def walk_back(op: Ops, head: ClassHead, start: Cotangent) -> ir.Value:
    """The gradient at the tap that a cotangent of the head causes, in the shape of the tap.

    Raises:
        GraftError: An operator of the head has no rule.
    """
    forward = Forward(op, head.path)
    cotangents = {start.value: start.g}
    for node in head.nodes:
        for out, value in enumerate(node.outputs):
            if value not in cotangents:
                continue
            g = cotangents.pop(value)
            ways = [i for i, source in enumerate(node.inputs) if source is not None and source in head.path]
            # A node without such inputs reads the picture inside a subgraph. There is no rule for that.
            for site in (Site(op, node, index, out, g, forward) for index in ways or [0]):
                arriving, known = apply_rule(site), cotangents.get(site.source)
                cotangents[site.source] = arriving if known is None else op.Add(known, arriving)
    parts = [cotangents[value] for value in head.twins if value in cotangents]
    total = parts[0]
    for part in parts[1:]:
        total = op.Add(total, part)
    return total
