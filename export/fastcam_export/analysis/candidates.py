"""Candidates: the tensors of a network that could be tapped, and the facts about each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import onnx_ir as ir

from .activations import Kind, kinds
from .dominators import dominators, inputs_of
from .ends import Ends
from .geometry import TensorGeometry
from .operators import facts
from .shapes import Shapes


@dataclass(frozen=True)
class TapCandidate:
    """A tensor of the network with a picture's layout, and the facts that decide whether it becomes a tap."""

    value: ir.Value
    shape: tuple[int, ...]
    geometry: TensorGeometry
    kind: Kind
    dominator: bool
    pooled: bool
    """The result of pooling or padding."""
    turned: bool
    """A copy of an activated tensor with its axes permuted."""
    depth: int
    """The number of convolutions before it. At 0 it is the picture itself, perhaps quantised or scaled."""
    convolved: bool
    """Whether a convolution follows. If not, a pooled tensor belongs to the head and is not a scale."""

    @property
    def name(self) -> str:
        return self.value.name or ""

    @property
    def operator(self) -> str:
        node = self.value.producer()
        return node.op_type if node is not None else "input"


def candidates(ends: Ends, shapes: Shapes, geometry: Mapping[str, TensorGeometry]) -> list[TapCandidate]:
    """Every tensor on the picture's path that could be tapped, in topological order."""
    kind = kinds(ends.path)
    dominating = {value.name for value in dominators(ends.path, ends.image, ends.scores)}
    convolutions = [i for i, node in enumerate(ends.path) if facts(node.op_type).convolution] or [-1]
    depth: dict[str | None, int] = {}
    pooled: set[str] = set()
    turned: set[str] = set()
    found: list[TapCandidate] = []
    for position, node in enumerate(ends.path):
        operator = facts(node.op_type)
        source = node.inputs[0] if node.inputs else None
        before = source.name or "" if source is not None else ""
        carried = (operator.rearranges or operator.per_pixel) and before in pooled
        copied = (operator.copies and before in turned) or (
            node.op_type == "Transpose" and kind.get(before, Kind.OTHER) >= Kind.SIGNED
        )
        if node.op_type == "DequantizeLinear" and source is not None and source.name in dominating:
            # A quantised tensor may be dequantised once for each reader. Each copy is the whole tensor.
            dominating.update(value.name for value in node.outputs)
        deepest = max(depth.get(value.name, 0) for value in inputs_of(node)) + operator.convolution
        for value in node.outputs:
            if not value.name:
                continue
            depth[value.name] = deepest
            where = geometry.get(value.name)
            # A Slice that takes every second pixel down-samples like a pooling.
            skipping = (
                node.op_type == "Slice" and where and where.stride != geometry.get(before, where).stride
            )
            if operator.pools or node.op_type == "Pad" or carried or skipping:
                pooled.add(value.name)
            if copied:
                turned.add(value.name)
            shape = shapes.get(value.name, ())  # a sequence has no shape
            if node.op_type == "QuantizeLinear" or where is None or len(shape) != 4:
                continue
            candidate = TapCandidate(
                value,
                shape,
                where,
                kind[value.name],
                value.name in dominating,
                value.name in pooled,
                copied,
                depth[value.name],
                position < convolutions[-1],
            )
            if _is_usable(candidate, ends):
                found.append(candidate)
    return found


def _is_usable(candidate: TapCandidate, ends: Ends) -> bool:
    height, width = candidate.geometry.size
    if height * width <= 1 or height > ends.size[0] or width > ends.size[1]:
        return False
    if candidate.geometry.whole is not None:
        return False  # its map would stretch a part of the picture over the whole
    if candidate.geometry.layout != "NHWC":
        return candidate.geometry.layout == "NCHW"
    # Convolutions write NCHW. Among channels-last tensors, only an activated dominator is worth a Transpose:
    # a transposed copy has an NCHW original, and transformer tokens are not convolutional features.
    return candidate.dominator and candidate.kind >= Kind.SIGNED and not candidate.turned


def only_gates(value: ir.Value, ends: Ends, known: Mapping[str, TensorGeometry]) -> bool:
    """Whether `value` reaches the scores only as a gate: a factor of finer tensors that do not depend on it.

    Such a side branch weights the features of another path, as the attention of GhostNetV2 does. A tensor
    that is concatenated, added, or multiplied with its own descendants is not a gate.
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
