"""The site of a rule: one edge of the head, with the cotangent that arrives there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as ir

from ..analysis.values import Dims, constant_behind, fixed_dims, known_dims
from ..authoring.ops import Ops
from ..authoring.tap_input import dequantizer, read_activation
from ..errors import GraftError

STILL_WORKS = "saliency_map works without class maps"


class Forward:
    """The values of the forward pass as float32, for the rules. They are not recomputed.

    Reading them must not break onnxruntime's fusions, see `read_activation`. So a tensor that is quantised
    for its other readers is read in its quantised version.
    """

    def __init__(self, op: Ops, path: frozenset[ir.Value]) -> None:
        self.op = op
        self.path = path
        self._known: dict[ir.Value, ir.Value] = {}

    def __call__(self, value: ir.Value) -> ir.Value:
        if value not in self._known:
            self._known[value] = self._read(value)
        return self._known[value]

    def _read(self, value: ir.Value) -> ir.Value:
        quantized = dequantizer(value) or (_quantized_twin(value) if value in self.path else None)
        if quantized is not None or value in self.path:
            read = read_activation(self._record, value, quantized)
        elif value.dtype == ir.DataType.FLOAT:
            read = value
        else:
            read = self.op.Cast(value, to=ir.DataType.FLOAT)
        if read is not value:
            read.shape = value.shape
        return read

    def _record(self, op_type: str, *inputs: ir.Value | None, **attributes: Any) -> ir.Value:
        node: Callable[..., ir.Value] = getattr(self.op, op_type)
        return node(*inputs, **attributes)


class ForwardOfClass(Forward):
    """The forward values N×classes×… of one class per image, as N×1×…"""

    def __init__(self, op: Ops, path: frozenset[ir.Value], class_index: ir.Value) -> None:
        super().__init__(op, path)
        self._index = op.Unsqueeze(class_index, [1])

    def _read(self, value: ir.Value) -> ir.Value:
        if value not in self.path:
            return super()._read(value)
        one = self.op.Unsqueeze(self.op.GatherND(super()._read(value), self._index, batch_dims=1), [1])
        if value.shape is not None:
            one.shape = ir.Shape([value.shape[0], 1, *value.shape[2:]])
        return one


@dataclass(frozen=True)
class Site:
    """The edge from one output of `node` to its input `index`; `g` is the cotangent of the output.

    A rule returns the cotangent of the input: `g` times the Jacobian of `node`, in the shape of `x`.
    """

    op: Ops
    node: ir.Node
    index: int
    out: int
    g: ir.Value
    forward: Callable[[ir.Value], ir.Value]

    @property
    def x(self) -> ir.Value:
        """The input that the cotangent goes to."""
        return self.forward(self.source)

    @property
    def y(self) -> ir.Value:
        """The output that it comes from."""
        return self.forward(self.node.outputs[self.out])

    @property
    def source(self) -> ir.Value:
        """The input as a value of the graph."""
        value = self.node.inputs[self.index]
        assert value is not None
        return value

    def input(self, index: int) -> ir.Value | None:
        """Any input, or None where it is left out."""
        value = self.node.inputs[index] if index < len(self.node.inputs) else None
        return None if value is None else self.forward(value)

    def constant(self, index: int) -> np.ndarray | None:
        """The constant at an input, or None where the input is left out.

        Raises:
            GraftError: The input is given but not constant.
        """
        value = self.node.inputs[index] if index < len(self.node.inputs) else None
        if value is None:
            return None
        array = constant_behind(value)
        if array is None:
            raise self.refuse(f"its input '{value.name}' is not a constant")
        return array

    def refuse(self, reason: str) -> GraftError:
        """The error that names the node and says what still works."""
        name = self.node.name or self.node.outputs[0].name
        return GraftError(f"no gradient through node '{name}' ({self.node.op_type}): {reason}; {STILL_WORKS}")

    def rank(self) -> int:
        """The rank of `x`."""
        if self.x.shape is None:
            raise self.refuse(f"the rank of '{self.source.name}' is unknown")
        return len(self.x.shape)

    def dims(self) -> Dims:
        """The shape of `x`, None for each free dimension."""
        self.rank()
        return known_dims(self.x) or ()

    def shape(self) -> ir.Value:
        """The shape of `x` as a tensor."""
        dims = fixed_dims(self.x)
        return self.op.Shape(self.x) if dims is None else self.op.const(np.array(dims, np.int64))

    def reshape(self, g: ir.Value) -> ir.Value:
        """`g` in the shape of `x`, which has as many elements."""
        dims = known_dims(self.x)
        if dims is not None and dims.count(None) == 1:
            target = self.op.const(np.array([-1 if d is None else d for d in dims], np.int64))
        else:
            target = self.shape()
        return self.op.Reshape(g, target)

    def sum_to(self, g: ir.Value) -> ir.Value:
        """`g`, of the node's broadcast shape, summed to the shape of `x`."""
        others = [v.shape for i, v in enumerate(self.node.inputs) if i != self.index and v is not None]
        own = self.source.shape
        fit = own is not None and all(o is not None and fits_into(list(o), list(own)) for o in others)
        return g if fit else self.sum_repeated(g)

    def sum_repeated(self, g: ir.Value) -> ir.Value:
        """`g` summed over the axes that `x` lacks or has with length 1, which are found at run time."""
        op, shape = self.op, self.shape()
        missing = op.Sub(op.Shape(op.Shape(g)), op.Shape(shape))
        axes = op.NonZero(op.Equal(op.Concat(op.Expand(1, missing), shape, axis=0), 1))
        total = op.ReduceSum(g, op.Squeeze(axes, [0]), keepdims=1, noop_with_empty_axes=1)
        return op.Reshape(total, shape)


def fits_into(other: Sequence[int | ir.SymbolicDim], x: Sequence[int | ir.SymbolicDim]) -> bool:
    """Whether broadcasting with dimensions `other` certainly keeps the shape of `x`."""
    pairs = zip(reversed(other), reversed(x), strict=False)
    return len(other) <= len(x) and all(a == 1 or (a == b and _named(a)) for a, b in pairs)


def _named(dim: int | ir.SymbolicDim) -> bool:
    return isinstance(dim, int) or dim.value is not None


def _quantized_twin(value: ir.Value) -> ir.Node | None:
    """The DequantizeLinear of the quantised copy of `value`, if there is one."""
    reader = _reader(value, "QuantizeLinear")
    while reader is not None:
        quantized = reader.outputs[0]
        node = _reader(quantized, "DequantizeLinear")
        if node is not None:
            return node
        reader = _reader(quantized, "Cast")  # some quantisers restate the integer type
    return None


def _reader(value: ir.Value, op_type: str) -> ir.Node | None:
    return next((use.node for use in value.uses() if use.node.op_type == op_type), None)
