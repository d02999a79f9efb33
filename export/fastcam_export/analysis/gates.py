"""Gates: tensors that weigh others, and carry nothing themselves."""

from __future__ import annotations

from collections.abc import Mapping

import onnx_ir as ir

from .dominators import inputs_of
from .ends import Ends
from .geometry import Geometry


def only_gates(value: ir.Value, ends: Ends, known: Mapping[str, Geometry]) -> bool:
    """Does `value` reach the scores only as a factor, spread over finer tensors that it is no origin of?

    Such a side branch looks at the picture from afar to weigh what another path carries (the attention of
    GhostNetV2). What is concatenated or added, or multiplied by what follows from it, carries.
    """
    carried = {ends.image.name, *(output.name for node in ends.path for output in node.outputs)}
    here = known[value.name or ""].stride
    reached = {value.name}
    for node in ends.path:
        operands = {operand.name for operand in inputs_of(node)} & carried
        if operands.isdisjoint(reached):
            continue
        there = known[node.outputs[0].name or ""].stride
        finer = there[0] < here[0] or there[1] < here[1]
        if node.op_type == "Mul" and finer and not operands <= reached:
            continue
        reached.update(output.name for output in node.outputs)
    return ends.scores.name not in reached
