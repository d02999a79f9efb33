"""The grids that a graph concatenates into one output of rows, found by walking back from the output."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence

import onnx_ir as ir
from fastcam_runtime.detect.head import Grid

DEPTH = 60
"""Nodes to look at on the way back to a Concat, or from it to a grid."""


def joined_grids(
    output: ir.Value, rows: int, size: tuple[int, int], shapes: Mapping[str, Sequence[int]]
) -> tuple[Grid, ...]:
    """The grids whose rows a Concat joins into `rows`, in its order; empty where none is found.

    Args:
        output: The network's output.
        rows: How many rows it has.
        size: Height and width of the picture.
        shapes: Concrete shapes by tensor name.
    """
    for value in _back(output):
        node = value.producer()
        if node is None or node.op_type != "Concat" or len(node.inputs) < 2:
            continue
        shape = shapes.get(value.name or "", ())
        axis = node.attributes.get_int("axis", 0)
        if not -len(shape) <= axis < len(shape) or shape[axis] != rows:
            continue
        parts = [_grid(part, shapes, axis, size) for part in node.inputs if part is not None]
        grids = tuple(grid for grid in parts if grid is not None)
        if len(grids) == len(parts) and sum(grid.rows for grid in grids) == rows:
            return grids
    return ()


def _grid(
    part: ir.Value, shapes: Mapping[str, Sequence[int]], axis: int, size: tuple[int, int]
) -> Grid | None:
    """The grid N×C×h×w that was reshaped to the rows of one part."""
    own = shapes.get(part.name or "", ())
    if not -len(own) <= axis < len(own):
        return None
    rows = own[axis]
    for value in _back(part):
        node, shape = value.producer(), shapes.get(value.name or "", ())
        if node is None or node.op_type not in ("Conv", "FusedConv", "QLinearConv") or len(shape) != 4:
            continue
        height, width = shape[2], shape[3]
        if rows % (height * width) == 0:
            return Grid(height, width, _stride(size, (height, width)), rows // (height * width))
    return None


def _stride(size: tuple[int, int], cells: tuple[int, int]) -> float:
    """The power of two that gives this number of cells, else the quotient of the widths."""
    for stride in (2, 4, 8, 16, 32, 64, 128, 256, 512):
        if (-(-size[0] // stride), -(-size[1] // stride)) == cells:
            return stride
    return size[1] / cells[1]


def _back(value: ir.Value) -> Iterator[ir.Value]:
    """`value` and its ancestors, nearest first."""
    queue, seen = deque([value]), {value}
    while queue and len(seen) < DEPTH:
        value = queue.popleft()
        yield value
        node = value.producer()
        for source in node.inputs if node is not None else ():
            if source is not None and source not in seen and source.producer() is not None:
                seen.add(source)
                queue.append(source)
