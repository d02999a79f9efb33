"""Grad-CAM of one detection: the gradient of its class logit at the features that its stride's head reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx_ir as ir
from fastcam_runtime.contract import BOX_INPUT
from fastcam_runtime.detect.head import Head

from ..analysis.operators import Sign, facts
from ..analysis.values import Dims
from ..authoring.branch import Branch
from ..authoring.map_size import MapSize
from ..authoring.ops import Ops
from ..authoring.tap_input import read_tap
from ..cam.class_head import find_head, infer_head
from ..cam.gradcam import Features, class_map
from ..cam.gradient import walk_back
from ..cam.linear_layer import linear_layer
from ..cam.outline import outline
from ..cam.seed import Cotangent
from .find import Detector
from .logit_grids import LogitGrid, find_logit_grids, refuse
from .rows_in_graph import Part, ScoreTensors, read_scores
from .score_grid import ScoreGrids, class_of_row, row_scores


def box_maps(
    branch: Branch,
    detector: Detector,
    image: ir.Value,
    map_size: MapSize,
    wanted: ir.Value,
    box: ir.Value,
    *,
    shapes: Mapping[str, Dims],
    method: str,
    epsilon: float,
) -> ScoreGrids:
    """Grad-CAM or Grad-CAM++ of one detection per picture, one map per stride: 0 for all but its own stride.

    Args:
        branch: Gets the nodes `fastcam/cam/…`.
        detector: The head.
        image: The network's picture.
        map_size: The size of the picture.
        wanted: `saliency_class`, int64 [N]: the class of the logit; −1 is the row's best class.
        box: `saliency_box`, int64 [N]: the row of the head; −1 is the row with the highest score, for
            the wanted class if there is one.
        shapes: The shapes that hold for every picture.
        method: `gradcam` or `gradcam++`.
        epsilon: See `gradcam_plus_plus`.

    Raises:
        GraftError: The logits cannot be found, or an operator before them has no gradient rule.
    """
    head = detector.scores
    if head is None or not detector.head.grids:
        raise refuse(f"the boxes of '{detector.head.boxes[0]}' are selected in the network")
    logits = find_logit_grids(branch.model, image, head, detector.shapes)
    size = map_size.size_input[0] if map_size.size_input else None
    source = read_scores(branch, head, branch.model, size)
    row, index = _selected_box(branch, source, wanted, box)
    maps = []
    for number, grid in enumerate(logits):
        stride = f"{grid.grid.stride:g}"
        gradient = _gradient(branch, grid, source, number, row, index, shapes)
        features = read_tap(branch, grid.features, "NCHW", f"cam/stride_{stride}/features")
        producer = grid.features.producer()
        known = Features(
            None if size is not None else (grid.grid.height, grid.grid.width),
            producer is not None and facts(producer.op_type).sign is Sign.NON_NEGATIVE,
        )
        step = class_map(method, branch.opset, epsilon, known)
        maps.append(branch.call(step, features, gradient, name=f"cam/stride_{stride}/map"))
    if size is not None:
        return ScoreGrids(maps, [(None, None)] * len(maps))
    flat = [
        branch.node("Flatten", value, name=f"cam/flat_{number}", axis=1) for number, value in enumerate(maps)
    ]
    joined = branch.node("Concat", *flat, name="cam/flat", axis=1) if len(flat) > 1 else flat[0]
    return ScoreGrids([joined], [(grid.height, grid.width) for grid in head.grids])


def _selected_box(
    branch: Branch, source: ScoreTensors, wanted: ir.Value, box: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """The row to explain and the class of its logit, int64 [N] each."""
    op = Ops(branch.opset)
    chosen = _row(op, source.head, source.parts(op), wanted, box)
    step, inputs = outline(op, "SelectBox", chosen, "row", f"The row of {BOX_INPUT}, or the best one.")
    row = branch.call(step, *inputs, name="cam/row")
    op = Ops(branch.opset)
    index = _class(op, source.head, source.parts(op), wanted, row)
    step, inputs = outline(op, "ClassOfBox", index, "class", "The wanted class, or the row's best one.")
    return row, branch.call(step, *inputs, name="cam/class")


def _row(op: Ops, head: Head, parts: Sequence[Part], wanted: ir.Value, box: ir.Value) -> ir.Value:
    """The row to explain, int64 [N]; a number above the last row selects the last one."""
    rows = row_scores(op, head, parts, lambda part: part.best(op, head))
    if head.classes > 1:
        column = op.Max(op.Min(wanted, head.classes - 1), 0)
        every = op.Shape(op.Slice(rows, [0], [1], [1]))
        column = op.Reshape(op.Expand(op.Unsqueeze(column, [1]), every), [-1])
        of_class = row_scores(op, head, parts, lambda part: part.of_class(op, head, column, False))
        rows = op.Where(op.Less(op.Unsqueeze(wanted, [1]), 0), rows, of_class)
    best = op.ArgMax(rows, axis=1, keepdims=0)
    last = op.Sub(op.Slice(op.Shape(rows), [1], [2]), 1)
    return op.Where(op.Less(box, 0), best, op.Min(box, last))


def _class(op: Ops, head: Head, parts: Sequence[Part], wanted: ir.Value, row: ir.Value) -> ir.Value:
    """The class of the logit, int64 [N]."""
    if head.classes == 1:
        return op.Mul(row, 0)
    own = class_of_row(op, head, parts, op.Unsqueeze(row, [1]))
    return op.Where(op.Less(wanted, 0), own, op.Min(wanted, head.classes - 1))


def _gradient(
    branch: Branch,
    logits: LogitGrid,
    source: ScoreTensors,
    number: int,
    row: ir.Value,
    index: ir.Value,
    shapes: Mapping[str, Dims],
) -> ir.Value:
    """The gradient of the logit at the stride's features, [N,C,h,w]; 0 for rows of other strides."""
    path = find_head(branch.model.graph, logits.features, logits.value)
    known = dict(shapes)
    for value in path.path:
        known.setdefault(value.name or "", (None,) * 4)
    infer_head(branch.model.graph, path, known)
    op = Ops(branch.opset)
    part = source.parts(op)[0]
    height, width = part.sides(op, number)
    start, end = part.bounds(op, number)
    cells, local = op.Mul(height, width), op.Sub(row, start)
    per_cell = logits.grid.per_cell
    cell, anchor = local, op.Mul(local, 0)
    if per_cell > 1 and source.head.order == "cells":
        cell = op.Div(local, per_cell)
        anchor = op.Sub(local, op.Mul(cell, per_cell))
    elif per_cell > 1:
        anchor = op.Div(local, cells)
        cell = op.Sub(local, op.Mul(anchor, cells))
    inside = op.And(op.Not(op.Less(row, start)), op.Less(row, end))
    # An index above the last one gives zeros everywhere.
    spot = op.OneHot(op.Where(inside, cell, cells), cells, [0.0, 1.0])
    spot = op.Reshape(spot, op.Concat([-1], [1], height, width, axis=0))
    channel = op.Add(op.Mul(anchor, logits.per_anchor), op.Mul(index, logits.per_class))
    channel = op.Where(inside, op.Add(channel, logits.first), 0)
    layer = linear_layer(logits.value, path.path)
    if layer is not None:
        weights = op.Reshape(layer.rows(op, channel), [0, 0, 1, 1])
        begin = Cotangent(layer.source, op.Mul(weights, spot), of_class=False)
    else:
        planes = op.Reshape(op.OneHot(channel, [logits.channels], [0.0, 1.0]), [0, 0, 1, 1])
        begin = Cotangent(logits.value, op.Mul(planes, spot), of_class=False)
    gradient = begin.g if begin.value in path.twins else walk_back(op, path, begin)
    stride = f"{logits.grid.stride:g}".replace(".", "_")
    doc = f"Gradient of the detection's class logit at the features of stride {stride}."
    step, inputs = outline(op, f"BoxGradient{stride}", gradient, "g", doc)
    return branch.call(step, *inputs, name=f"cam/stride_{stride}/gradient")
