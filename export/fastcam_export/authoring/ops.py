"""Write ONNX nodes as `op.Add(x, y)`, and gather them in functions of the domain `fastcam`.

A step of the method is a `Step`: one function with a body of standard operators, and the constants
that one call of it needs. The same step is grafted into models and, alone, run in the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import onnx_ir as ir
from fastcam_runtime.contract import DOMAIN

_T = TypeVar("_T")

MIN_OPSET = 13
"""Oldest opset the steps are written for; older models are upgraded to it."""


class Ops:
    """Records nodes: `op.MatMul(a, b)`, `op.Concat(a, b, axis=1)`; one node, one output.

    Python numbers and arrays among the inputs become Constant nodes (float32, or int64 for ints).
    """

    def __init__(self, opset: int) -> None:
        self.opset = opset
        self._tape = ir.tape.Tape()

    @property
    def nodes(self) -> Sequence[ir.Node]:
        return self._tape.nodes

    def __getattr__(self, op_type: str) -> Callable[..., ir.Value]:
        if not op_type[:1].isupper():
            raise AttributeError(op_type)

        def record(
            *inputs: ir.Value | float | Sequence[float] | np.ndarray | None, **attributes: Any
        ) -> ir.Value:
            values = [v if v is None or isinstance(v, ir.Value) else self.const(v) for v in inputs]
            return self._tape.op(op_type, values, attributes)

        return record

    def const(self, value: float | Sequence[float] | np.ndarray) -> ir.Value:
        """A Constant node. Floats become float32, ints int64; other arrays keep their type."""
        array = np.asarray(value)
        if array.dtype == np.float64:
            array = array.astype(np.float32)
        return self._tape.op("Constant", [], {"value": ir.tensor(array)})

    def attribute(self, name: str) -> ir.Value:
        """The function's own float attribute `name`, as a scalar."""
        reference = ir.RefAttr("value_float", name, ir.AttributeType.FLOAT)
        return self._tape.op("Constant", [], {"value_float": reference})

    def reduce(self, op_type: str, x: ir.Value, axes: Sequence[int], keepdims: bool = True) -> ir.Value:
        """ReduceMax, ReduceMin, ReduceMean…: their axes moved from an attribute to an input in opset 18."""
        reduction: Callable[..., ir.Value] = getattr(self, op_type)
        if self.opset >= 18 or op_type == "ReduceSum":
            return reduction(x, list(axes), keepdims=int(keepdims))
        return reduction(x, axes=list(axes), keepdims=int(keepdims))

    def split(self, x: ir.Value, sizes: Sequence[int], axis: int) -> Sequence[ir.Value]:
        """Parts of these `sizes` along `axis`.

        The sizes are always written: to onnxruntime's common-subexpression elimination, two Split nodes of
        one tensor that differ only in their number of outputs are the same node.
        """
        inputs = [x, self.const(list(sizes))]
        return self._tape.op_multi_out("Split", inputs, {"axis": axis}, num_outputs=len(sizes))

    def largest(self, x: ir.Value, count: int) -> ir.Value:
        """The `count` largest values along the last axis, the largest first."""
        k = self.const(np.array([count], np.int64))
        return self._tape.op_multi_out("TopK", [x, k], {"axis": -1}, num_outputs=2)[0]


def last_first(record: Callable[[int, _T], ir.Value], values: Sequence[_T]) -> list[ir.Value]:
    """`record(k, value)` for each value, in their order, recorded from the last one to the first.

    onnxruntime runs nodes later in the file earlier. With the scales recorded from the last to the first,
    each tap is read right after the network computed it, while it is in the cache, and then freed.
    """
    made = [record(k, value) for k, value in reversed(list(enumerate(values)))]
    return made[::-1]


@dataclass(frozen=True)
class Step:
    """A named step of the method: an ONNX function and what one call of it passes besides its data."""

    function: ir.Function
    constants: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Inputs after the data inputs, in the order of the function's signature."""
    attributes: Mapping[str, float] = field(default_factory=dict)


def make_function(
    name: str,
    opset: int,
    inputs: Sequence[str],
    body: Callable[..., ir.Value | Sequence[ir.Value]],
    *,
    output: str | Sequence[str],
    attributes: Sequence[str] = (),
    doc: str = "",
) -> ir.Function:
    """Build the function `fastcam::name` by calling `body(op, *inputs)`.

    Args:
        name: The operator name that Netron shows, e.g. `SmoeScale`.
        opset: Version of the default domain that the body is written in (the model's own).
        inputs: Names of the inputs, data first, constants after.
        body: Records the nodes on the `Ops` it is given and returns the output value or values.
        output: Name or names of the outputs.
        attributes: Names of float attributes, read in the body with `op.attribute(name)`.
        doc: One line that says what the function computes.
    """
    op = Ops(opset)
    values = [ir.Value(name=i) for i in inputs]
    result = body(op, *values)
    results = [result] if isinstance(result, ir.Value) else list(result)
    for value, label in zip(results, [output] if isinstance(output, str) else output, strict=True):
        value.name = label
    graph = ir.Graph(values, results, nodes=op.nodes, opset_imports={"": opset}, name=name)
    parameters = [ir.Attr(a, ir.AttributeType.FLOAT, None) for a in attributes]
    function = ir.Function(DOMAIN, name, graph=graph, attributes=parameters)
    function.doc_string = doc
    return function
