"""Box decoders: from a network's values to left, top, right, bottom in pixels of its input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..errors import ModelError
from ..image import Array
from .head import Head

Size = tuple[int, int]
"""Height and width of the network's input."""

_LARGEST_EXPONENT = 20.0
"""Upper limit of exponents: e to this power is larger than any picture, and float32 does not overflow."""


def decode_boxes(head: Head, raw: Array, rows: Array, size: Size) -> Array:
    """Boxes [M,4] as left, top, right, bottom in pixels.

    Args:
        head: The head.
        raw: The network's values for the boxes, [M,4] (or [M,4·bins]).
        rows: Their row numbers, int64 [M].
        size: Height and width of the input.
    """
    raw = raw.astype(np.float32, copy=False)
    if head.decode in _PLAIN:
        boxes = _PLAIN[head.decode](raw)
        if head.unit == "fraction":
            boxes = boxes * np.array([size[1], size[0]] * 2, np.float32)
        return boxes
    cells = cell_table(head)
    x, y, stride = (cells[k][rows] for k in range(3))
    return _CODED[head.decode](head, raw, _Cells(x, y, stride, rows), size)


@dataclass(frozen=True)
class _Cells:
    x: Array
    y: Array
    stride: Array
    rows: Array


def cell_table(head: Head) -> Array:
    """Column, row and stride of the cell of every row, float32 [3,A]."""
    parts = []
    for grid in head.grids:
        y, x = np.divmod(np.arange(grid.height * grid.width), grid.width)
        repeat = np.repeat if head.order == "cells" else np.tile
        parts.append([repeat(x, grid.per_cell), repeat(y, grid.per_cell), np.full(grid.rows, grid.stride)])
    return np.concatenate(parts, axis=1).astype(np.float32)


def anchor_table(head: Head) -> Array:
    """Width and height of every row's anchor in pixels, float32 [2,A]."""
    parts = []
    for grid, sides in zip(head.grids, head.anchors, strict=True):
        own = np.array(sides, np.float32).reshape(-1, 2)
        if len(own) != grid.per_cell:
            raise ModelError(
                f"detector head: {len(own)} anchors for {grid.per_cell} per cell of stride {grid.stride:g}"
            )
        cells = grid.height * grid.width
        parts.append((np.tile(own, (cells, 1)) if head.order == "cells" else np.repeat(own, cells, axis=0)).T)
    return np.concatenate(parts, axis=1)


def _xyxy(raw: Array) -> Array:
    return raw[:, :4]


def _yxyx(raw: Array) -> Array:
    return raw[:, [1, 0, 3, 2]]


def _cxcywh(raw: Array) -> Array:
    return _corners(raw[:, 0], raw[:, 1], raw[:, 2], raw[:, 3])


def _corners(x: Array, y: Array, width: Array, height: Array) -> Array:
    return np.stack([x - width / 2, y - height / 2, x + width / 2, y + height / 2], axis=1)


def _offsets(head: Head, raw: Array, cells: _Cells, size: Size) -> Array:
    """Centre (v + cell)·stride, size exp(v)·stride: YOLOX, YuNet."""
    width, height = (np.exp(np.minimum(raw[:, k], _LARGEST_EXPONENT)) * cells.stride for k in (2, 3))
    return _corners((raw[:, 0] + cells.x) * cells.stride, (raw[:, 1] + cells.y) * cells.stride, width, height)


def _distances(head: Head, raw: Array, cells: _Cells, size: Size) -> Array:
    """Left, top, right, bottom from a point of the cell, in strides: SCRFD, FCOS-like."""
    x, y = (cells.x + head.centre) * cells.stride, (cells.y + head.centre) * cells.stride
    left, top, right, bottom = (raw[:, k] * cells.stride for k in range(4))
    return np.stack([x - left, y - top, x + right, y + bottom], axis=1)


def _distribution(head: Head, raw: Array, cells: _Cells, size: Size) -> Array:
    """Each distance as the expectation over bins 0, 1, 2… strides: NanoDet, PicoDet, raw YOLOv8."""
    logits = raw.reshape(len(raw), 4, head.bins)
    weights = np.exp(logits - logits.max(axis=2, keepdims=True))
    weights /= weights.sum(axis=2, keepdims=True)
    expected = weights @ np.arange(head.bins, dtype=np.float32)
    return _distances(head, expected, cells, size)


def _anchors(head: Head, raw: Array, cells: _Cells, size: Size) -> Array:
    """Centre (2σ(v) − ½ + cell)·stride, size (2σ(v))²·anchor: raw heads of YOLOv5 and YOLOv7."""
    value = 2 * sigmoid(raw[:, :4])
    width, height = (value[:, k] ** 2 * anchor_table(head)[k - 2][cells.rows] for k in (2, 3))
    x, y = (value[:, 0] - 0.5 + cells.x) * cells.stride, (value[:, 1] - 0.5 + cells.y) * cells.stride
    return _corners(x, y, width, height)


def _priors(head: Head, raw: Array, cells: _Cells, size: Size) -> Array:
    """Centre prior + v·variance·size, size exp(v·variance)·prior: SSD. Priors lie in the middle of cells."""
    width, height = (anchor_table(head)[k][cells.rows] for k in (0, 1))
    of_centre, of_size = head.variances
    x = (cells.x + head.centre) * cells.stride + raw[:, 0] * of_centre * width
    y = (cells.y + head.centre) * cells.stride + raw[:, 1] * of_centre * height
    scale = np.exp(np.minimum(raw[:, 2:4] * of_size, _LARGEST_EXPONENT))
    return _corners(x, y, scale[:, 0] * width, scale[:, 1] * height)


def _tanh(head: Head, raw: Array, cells: _Cells, size: Size) -> Array:
    """Centre (tanh(v) + cell)·stride, size σ(v) of the picture: FastestDet."""
    x, y = (np.tanh(raw[:, 0]) + cells.x) * cells.stride, (np.tanh(raw[:, 1]) + cells.y) * cells.stride
    width, height = sigmoid(raw[:, 2]) * size[1], sigmoid(raw[:, 3]) * size[0]
    return _corners(x, y, width, height)


_PLAIN: dict[str, Callable[[Array], Array]] = {"xyxy": _xyxy, "yxyx": _yxyx, "cxcywh": _cxcywh}
_CODED: dict[str, Callable[[Head, Array, _Cells, Size], Array]] = {
    "offsets": _offsets,
    "distances": _distances,
    "distribution": _distribution,
    "anchors": _anchors,
    "priors": _priors,
    "tanh": _tanh,
}


def sigmoid(values: Array) -> Array:
    """The logistic function in a form that cannot overflow, float32."""
    result: Array = (1 + np.tanh(values.astype(np.float32) / 2)) / 2
    return result
