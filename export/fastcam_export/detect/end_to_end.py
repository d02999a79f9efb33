"""Detectors that choose their boxes themselves: their outputs, and the grid of scores inside the graph.

| what the outputs hold | written by |
|---|---|
| D×6: corners, score, class | Ultralytics, YOLOv10; its RT-DETR with centre and size as fractions |
| D×6: class, score, corners | PaddleDetection |
| D×7: picture, corners, class, score | YOLOv7 |
| D×7: picture, class, score, corners | OpenVINO, Caffe's DetectionOutput, PINTO's model zoo |
| boxes D×4, scores D, classes D | RT-DETR, D-FINE, DEIM, torchvision; TensorFlow, with y first |
| D×5: corners, score; classes D | MMDeploy |
| boxes D×4, scores D×C; or D×(4+C) | DETR, RT-DETR, RF-DETR |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import onnx_ir as ir
from fastcam_runtime.detect.head import Head

from ..analysis.operators import facts
from .coding import FRACTIONS, are_probabilities, sum_to_one
from .outputs import Rows, count_classes, grids_for

MOST_CHOSEN = 2000
"""Most boxes that a network chooses; heads with more rows have one per cell."""

_COLUMNS = {
    6: ((0, 4, 5, None), (2, 1, 0, None)),
    7: ((1, 6, 5, 0), (3, 2, 1, 0)),
}
"""First value of the box, score, class and number of the picture, by the number of values in a row."""
_ZOO_NAME = "batchno_classid_score"
"""Begins the name of a D×7 output that says what it holds: needed if the photo shows nothing."""
_CLASS_WORDS = ("class", "label")


def find_chosen_boxes(outputs: Mapping[str, np.ndarray], labels: int | None) -> Head | None:
    """A head for boxes that the network has chosen itself.

    Args:
        outputs: Every output of one run, by name, without the batch dimension.
        labels: How many class names are known.
    """
    return next(_in_parts(outputs, labels), None) or next(_in_one(outputs, labels), None)


def _in_one(outputs: Mapping[str, np.ndarray], labels: int | None) -> Iterator[Head]:
    """One output with a row for each box."""
    for name, array in outputs.items():
        if array.ndim < 2 or array.dtype.kind != "f" or array.shape[-1] not in _COLUMNS:
            continue
        if any(size != 1 for size in array.shape[:-2]):
            continue  # a grid, not rows
        rows = array.reshape(-1, array.shape[-1])
        for box_at, score_at, index_at, picture_at in _COLUMNS[rows.shape[1]]:
            decode = _decoding(rows[:, box_at : box_at + 4])
            named = name.startswith(_ZOO_NAME) and box_at == 3
            fits = _fits(rows, score_at, index_at, picture_at) if len(rows) else named
            if not fits or not decode or len(rows) > MOST_CHOSEN:
                continue
            place = "corners" if decode == "xyxy" else "centre and size"
            yield Head(
                "end_to_end", _count(rows[:, index_at], labels), (name,), (name,), box_at=box_at,
                score_at=score_at, index_at=index_at, decode=decode,
                unit=_unit(rows[:, box_at : box_at + 4]),
                why=f"rows of {place}, score and class: the network chooses its boxes itself",
            )  # fmt: skip


def _fits(rows: np.ndarray, score_at: int, index_at: int, picture_at: int | None) -> bool:
    """Whether the values can have this meaning."""
    if picture_at is not None and (rows[:, picture_at] > 0).any():
        return False
    return are_probabilities(rows[:, score_at]) and _are_classes(rows[:, index_at])


def _decoding(boxes: np.ndarray) -> str:
    """`xyxy` for corners, `cxcywh` for centres and sizes as fractions, empty for anything else."""
    upright = (boxes[:, 2:] >= boxes[:, :2]).all(axis=1)
    if not len(boxes) or upright.mean() > 0.9:
        return "xyxy"
    return "cxcywh" if are_probabilities(boxes) else ""


def _in_parts(outputs: Mapping[str, np.ndarray], labels: int | None) -> Iterator[Head]:
    """Boxes, with or without their scores, and the classes in an output of their own."""
    for name, boxes in outputs.items():
        if boxes.ndim != 2 or boxes.dtype.kind != "f" or boxes.shape[1] not in (4, 5):
            continue
        count, width = boxes.shape
        columns = {key: array for key, array in outputs.items() if array.size == count and key != name}
        indices = [key for key in columns if _may_be_classes(key, columns[key])]
        scores = [key for key in columns if key not in indices and _may_be_scores(columns[key])]
        if not indices or (width == 4 and not scores) or count > MOST_CHOSEN:
            continue
        index = max(indices, key=lambda key: any(word in key.lower() for word in _CLASS_WORDS))
        score = name if width == 5 else max(scores, key=lambda key: "score" in key.lower())
        tensorflow = name.startswith("detection_boxes")
        yield Head(
            "end_to_end", _count(columns[index], labels), (name,), (score,), indices=(index,),
            score_at=4 if width == 5 else 0, index_at=0, decode="yxyx" if tensorflow else "xyxy",
            unit="fraction" if tensorflow else _unit(boxes[:, :4]),
            why=f"rows of corners, scores in '{score}', classes in '{index}': the network chooses its boxes "
            "itself",
        )  # fmt: skip


def _may_be_classes(name: str, values: np.ndarray) -> bool:
    named = any(word in name.lower() for word in _CLASS_WORDS)
    return values.dtype.kind in "iu" or (named and _are_classes(values))


def _may_be_scores(values: np.ndarray) -> bool:
    return values.dtype.kind == "f" and (not values.size or are_probabilities(values))


def _are_classes(values: np.ndarray) -> bool:
    """Whole numbers; −1 fills rows that hold no box."""
    return bool(np.allclose(values, np.rint(values)) and values.min() >= -1)


def _count(indices: np.ndarray, labels: int | None) -> int:
    """How many classes there are: at least as many as the photo shows."""
    return labels or int(indices.max(initial=0)) + 1


def _unit(boxes: np.ndarray) -> str:
    return "fraction" if len(boxes) and float(np.abs(boxes).max()) < FRACTIONS else "pixels"


def find_queries(outputs: Sequence[Rows], size: tuple[int, int], labels: int | None) -> Head | None:
    """Boxes and scores of D objects that belong to no cells: DETR, RT-DETR, RF-DETR.

    The boxes are centre and size as fractions. They are in an output of their own, or before the scores if
    the file's labels say so.
    """
    rows = [r for r in outputs if r.layout == "rows" and r.count <= MOST_CHOSEN]
    rows = [r for r in rows if r.width - 4 == labels or not grids_for(r.count, size)]
    for boxes in rows:
        if not are_probabilities(boxes.values[:, :4]) or sum_to_one(boxes.values):
            continue
        if boxes.width == 4:
            scores = next((r for r in rows if r.count == boxes.count and r.width > 4), None)
            first = 0
        else:
            scores, first = boxes if boxes.width - 4 == labels else None, 4
        if scores is None:
            continue
        values = scores.values[:, first:]
        classes, activation = values.shape[1], "none" if are_probabilities(values) else "sigmoid"
        if activation == "sigmoid" and (values.argmax(axis=1) == classes - 1).mean() > 0.5:
            classes, activation = classes - 1, "softmax"  # the last class means: no object
        return Head(
            "rows", classes, (boxes.name,), (scores.name,), score_at=first, decode="cxcywh", unit="fraction",
            activation=activation,
            why=f"{boxes.count} objects with centre and size in parts of the picture and "
            f"{count_classes(classes)}: the network chooses its boxes itself",
        )  # fmt: skip
    return None


def find_inner_scores(
    path: Sequence[ir.Node],
    shapes: Mapping[str, Sequence[int]],
    size: tuple[int, int],
    labels: int | None,
) -> Head | None:
    """A head for the last tensor of probabilities N×C×A or N×A×C, with A the number of cells of all strides.

    Only convolutions have cells. The queries of a transformer may be as many, but are in no order.

    Args:
        path: The nodes from the picture to the boxes, in topological order.
        shapes: Concrete shapes by tensor name.
        size: Height and width of the picture.
        labels: How many class names are known.
    """
    for scores, shape in _sigmoids(path, shapes):
        for layout, rows, classes in (("columns", shape[2], shape[1]), ("rows", shape[1], shape[2])):
            grids = grids_for(rows, size)
            if grids and rows > classes and labels in (None, classes) and _is_convolved(scores):
                name = scores.name or ""
                return Head(layout, classes, (name,), (name,), grids=grids, score_at=0)
    return None


def count_inner_classes(path: Sequence[ir.Node], shapes: Mapping[str, Sequence[int]]) -> int:
    """How many classes the last probabilities of a transformer's queries have, N×Q×C; 0 if there are none."""
    return next((shape[2] for scores, shape in _sigmoids(path, shapes) if not _is_convolved(scores)), 0)


def _sigmoids(
    path: Sequence[ir.Node], shapes: Mapping[str, Sequence[int]]
) -> Iterator[tuple[ir.Value, Sequence[int]]]:
    """The probabilities with three dimensions and their shapes, last first."""
    for node in reversed(path):
        shape = shapes.get(node.outputs[0].name or "", ())
        if node.op_type == "Sigmoid" and len(shape) == 3:
            yield node.outputs[0], shape


def _is_convolved(scores: ir.Value) -> bool:
    """Whether the last layer behind them is a convolution, not a matrix product."""
    node = scores.producer()
    while node is not None and not facts(node.op_type).matrix_product:
        if facts(node.op_type).convolution:
            return True
        made = [value.producer() for value in node.inputs if value is not None]
        node = next((source for source in made if source is not None), None)
    return False
