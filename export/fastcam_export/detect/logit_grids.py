"""Where the class logits of a head are: one grid per stride, before the sigmoid, reshapes and Concat.

Every element of the tensors behind the scores gets a number. The numbers go through the operators that only
move elements, and so show which element of which grid each score comes from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir
from fastcam_runtime.contract import NODE_PREFIX
from fastcam_runtime.detect.boxes import cell_table
from fastcam_runtime.detect.decode import rows_of
from fastcam_runtime.detect.head import Grid, Head

from ..analysis.dominators import data_path, dominators
from ..analysis.operators import facts
from ..analysis.values import constant_behind
from ..errors import GraftError

SQUASHES = ("Sigmoid", "Softmax")
"""From logits to probabilities, element by element."""


@dataclass(frozen=True)
class LogitGrid:
    """The class logits of one stride: channel first + anchor·per_anchor + class·per_class of `value`."""

    value: ir.Value
    """N×V×h×w."""
    channels: int
    """V."""
    grid: Grid
    features: ir.Value
    """N×C×h×w: the features that the head of this stride reads."""
    first: int
    per_anchor: int
    per_class: int


def find_logit_grids(
    model: ir.Model, image: ir.Value, head: Head, shapes: Mapping[str, Sequence[int]]
) -> list[LogitGrid]:
    """The logits of every stride of a head, and the features that they are computed from.

    Args:
        model: The network.
        image: Its picture.
        head: Where its scores are.
        shapes: Concrete shapes by tensor name.

    Raises:
        GraftError: The scores are not logits of grids after a sigmoid or softmax, reshapes and a Concat.
    """
    values = {value.name: value for node in model.graph for value in node.outputs}
    trace = _Trace(shapes)
    numbers = {name: trace(values[name]) for name in head.scores}
    # Some outputs have no batch dimension.
    numbers = {name: array[0] if array.ndim > 2 else array for name, array in numbers.items()}
    rows = np.concatenate(rows_of(head, numbers, head.scores))
    rows = rows[:, head.score_at : head.score_at + head.classes]
    if head.activation == "none" and not trace.squashed:
        sources = ", ".join(sorted({f"{_maker(v)} '{v.name}'" for v in trace.owners(rows)}))
        raise refuse(f"the scores '{head.scores[0]}' come from {sources}, not from a Sigmoid or Softmax")
    cells = cell_table(head)[:2].astype(np.int64)
    found, start = [], 0
    for grid in head.grids:
        part = slice(start, start + grid.rows)
        found.append(_grid(trace, rows[part], cells[:, part], grid, head, image))
        start += grid.rows
    return found


class _Trace:
    """Numbers the elements of the tensors behind a value."""

    def __init__(self, shapes: Mapping[str, Sequence[int]]) -> None:
        self._shapes = shapes
        self._sources: list[ir.Value] = []
        self._starts = [0]
        self._known: dict[ir.Value, np.ndarray] = {}
        self.squashed = False

    def __call__(self, value: ir.Value) -> np.ndarray:
        """For each element of `value`, the number of its source element."""
        if value not in self._known:
            self._known[value] = self._look(value)
        return self._known[value]

    def owners(self, numbers: np.ndarray) -> list[ir.Value]:
        """The tensors to which these elements belong."""
        return [self._sources[k] for k in np.unique(np.searchsorted(self._starts, numbers, "right") - 1)]

    def places(self, numbers: np.ndarray, owner: ir.Value) -> tuple[np.ndarray, ...]:
        """Where in `owner` these elements are, one array per axis."""
        rest = numbers - self._starts[self._sources.index(owner)]
        places: list[np.ndarray] = []
        for size in reversed(self.shape(owner)):
            rest, place = np.divmod(rest, size)
            places.insert(0, place)
        return tuple(places)

    def shape(self, value: ir.Value) -> tuple[int, ...]:
        shape = self._shapes.get(value.name or "")
        if shape is None:
            raise refuse(f"the shape of '{value.name}' is not known")
        return tuple(shape)

    def _look(self, value: ir.Value) -> np.ndarray:
        node = value.producer()
        moved = None if node is None else self._moved(node, value)
        if moved is not None:
            return moved
        count = int(np.prod(self.shape(value)))
        self._sources.append(value)
        self._starts.append(self._starts[-1] + count)
        return np.arange(self._starts[-2], self._starts[-1]).reshape(self.shape(value))

    def _moved(self, node: ir.Node, value: ir.Value) -> np.ndarray | None:
        """The numbers after an operator that moves elements, or a sigmoid or softmax, else None."""
        kind, operator, source = node.op_type, facts(node.op_type), node.inputs[0]
        if source is None or node.domain not in ("", "ai.onnx"):
            return None
        if kind in SQUASHES or operator.copies:
            self.squashed |= kind in SQUASHES
            return self(source)
        if operator.reshapes:
            return self(source).reshape(self.shape(value))
        if kind == "Transpose":
            return np.transpose(self(source), node.attributes.get_ints("perm", None))
        if kind == "Concat":
            parts = [self(part) for part in node.inputs if part is not None]
            return np.concatenate(parts, node.attributes.get_int("axis"))
        if kind == "Split":
            axis = node.attributes.get_int("axis", 0)
            start = sum(self.shape(v)[axis] for v in node.outputs[: node.outputs.index(value)])
            return self(source).take(range(start, start + self.shape(value)[axis]), axis)
        return self._sliced(node, source) if kind == "Slice" else None

    def _sliced(self, node: ir.Node, source: ir.Value) -> np.ndarray | None:
        starts, ends, axes, steps = (
            constant_behind(node.inputs[k]) if k < len(node.inputs) else None for k in range(1, 5)
        )
        if starts is None or ends is None:
            return None
        numbers = self(source)
        cut = [slice(None)] * numbers.ndim
        for k, (start, end) in enumerate(zip(starts, ends, strict=True)):
            axis = k if axes is None else int(axes[k])
            cut[axis] = slice(int(start), int(end), 1 if steps is None else int(steps[k]))
        return numbers[tuple(cut)]


def _grid(
    trace: _Trace, rows: np.ndarray, cells: np.ndarray, grid: Grid, head: Head, image: ir.Value
) -> LogitGrid:
    """The tensor that all rows [A,C] of one stride come from, checked element by element."""
    stride = f"stride {grid.stride:g}"
    owners = trace.owners(rows)
    if len(owners) != 1 or len(trace.shape(owners[0])) != 4:
        listed = ", ".join(f"'{value.name}' ({_maker(value)})" for value in owners)
        raise refuse(f"the scores of {stride} come from {listed}, not from one grid")
    value = owners[0]
    _, channel, y, x = trace.places(rows, value)
    anchor = np.arange(grid.rows)
    anchor = anchor % grid.per_cell if head.order == "cells" else anchor // (grid.height * grid.width)
    first = int(channel[0, 0])
    per_class = int(channel[0, 1]) - first if head.classes > 1 else 0
    per_anchor = int(channel[np.argmax(anchor == 1), 0]) - first if grid.per_cell > 1 else 0
    lines, columns = (np.repeat(place[:, None], head.classes, axis=1) for place in (cells[1], cells[0]))
    expected = first + anchor[:, None] * per_anchor + np.arange(head.classes) * per_class
    if not ((channel == expected).all() and np.array_equal(x, columns) and np.array_equal(y, lines)):
        raise refuse(f"the rows of {stride} are not in the order of '{value.name}'")
    channels = trace.shape(value)[1]
    background = per_anchor - head.classes == 1 and trace.squashed  # a further channel of each anchor
    with_boxes = channels > (head.classes + background) * grid.per_cell
    features = _features(value, image, trace, with_boxes)
    return LogitGrid(value, channels, grid, features, first, per_anchor, per_class)


def _features(value: ir.Value, image: ir.Value, trace: _Trace, with_boxes: bool) -> ir.Value:
    """The features of a stride's head: the last tensor on all paths to the logits that another node,
    such as that of the boxes, also reads. A head with one joint convolution reads that one's input."""
    layer = value.producer()
    while layer is not None and layer.op_type != "Conv" and layer.inputs[0] is not None:
        layer = layer.inputs[0].producer()
    if layer is None or layer.inputs[0] is None:
        raise refuse(f"'{value.name}' ({_maker(value)}) is not computed by a Conv")
    if with_boxes:
        return layer.inputs[0]
    path = data_path(image, value)
    own = set(path)
    for passed in reversed(dominators(path, image, value)):
        forks = any(use.node not in own and _computes(use.node) for use in passed.uses())
        if passed is not value and forks and trace.shape(passed)[2:] == trace.shape(value)[2:]:
            return passed
    return layer.inputs[0]


def _computes(node: ir.Node) -> bool:
    """Whether a node belongs to the network and does more than read a shape."""
    return not (facts(node.op_type).shape_only or (node.name or "").startswith(NODE_PREFIX))


def refuse(reason: str) -> GraftError:
    """The error that says what still works."""
    return GraftError(f"no gradient: {reason}; without --cam the class map is the score grid")


def _maker(value: ir.Value) -> str:
    node = value.producer()
    return "input" if node is None else node.op_type
