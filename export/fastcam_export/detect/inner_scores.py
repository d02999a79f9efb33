"""The grid of scores inside an end-to-end detector, whose outputs hold only the selected boxes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx_ir as ir
from fastcam_runtime.detect.head import Head

from .outputs import grids_for


def find_inner_scores(
    path: Sequence[ir.Node],
    shapes: Mapping[str, Sequence[int]],
    size: tuple[int, int],
    labels: int | None,
) -> Head | None:
    """A head for the last tensor of probabilities N×C×A or N×A×C, with A the number of cells of all strides.

    Args:
        path: The nodes from the picture to the boxes, in topological order.
        shapes: Concrete shapes by tensor name.
        size: Height and width of the picture.
        labels: How many class names are known.
    """
    for node in reversed(path):
        if node.op_type != "Sigmoid":
            continue
        name = node.outputs[0].name or ""
        shape = shapes.get(name, ())
        if len(shape) != 3:
            continue
        for layout, rows, classes in (("columns", shape[2], shape[1]), ("rows", shape[1], shape[2])):
            grids = grids_for(rows, size)
            if grids and rows > classes and labels in (None, classes):
                return Head(layout, classes, (name,), (name,), grids=grids, score_at=0)
    return None
