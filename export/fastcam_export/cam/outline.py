"""Turn recorded nodes into a function, so that they appear as one node."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir
from fastcam_runtime.contract import DOMAIN

from ..authoring.ops import Ops, Step


def outline(
    op: Ops, name: str, result: ir.Value, output: str, doc: str, *, first: Sequence[ir.Value] = ()
) -> tuple[Step, list[ir.Value]]:
    """Make the nodes recorded on `op` the body of the function `fastcam::name`.

    Args:
        op: Recorded nodes, which read each other and values from outside.
        name: The function's name.
        result: The one value to return; nodes that it does not need are left out.
        output: The name of the result.
        doc: One line that says what the function computes.
        first: Inputs in this order, before any others, also those that the nodes do not read: for functions
            that a compiled kernel replaces.

    Returns:
        The function as a step, and the outer values to call it with.
    """
    body = _needed(op, result)
    inside = {value for node in body for value in node.outputs}
    inputs = {value: ir.Value(name=value.name) for value in first}
    for node in body:
        for index, value in enumerate(node.inputs):
            if value is not None and value not in inside:
                inputs.setdefault(value, ir.Value(name=value.name))
                node.replace_input_with(index, inputs[value])
    for number, value in enumerate(value for node in body for value in node.outputs):
        value.name = f"{name}/{number}"  # no clash with inputs, which have the network's names
        value.shape = None  # the shapes that the rules set may not hold for every call of the function
    result.name = f"{name}/{output}"
    graph = ir.Graph(list(inputs.values()), [result], nodes=body, opset_imports={"": op.opset}, name=name)
    function = ir.Function(DOMAIN, name, graph=graph, attributes=[])
    function.doc_string = doc
    return Step(function), list(inputs)


def _needed(op: Ops, result: ir.Value) -> list[ir.Node]:
    """The recorded nodes that `result` depends on; the others are disconnected."""
    needed = {result}
    body: list[ir.Node] = []
    for node in reversed(op.nodes):
        if needed.isdisjoint(node.outputs):
            for index in range(len(node.inputs)):
                node.replace_input_with(index, None)
        else:
            needed.update(value for value in node.inputs if value is not None)
            body.append(node)
    return body[::-1]
