"""The outputs of one run as rows, for recognition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from fastcam_runtime.detect.head import Grid
from fastcam_runtime.errors import FastcamError

STRIDES: tuple[tuple[int, ...], ...] = (
    (8, 16, 32),
    (8, 16, 32, 64),
    (16, 32),
    (16,),
    (32,),
    (8,),
    (8, 16),
    (4, 8, 16, 32),
    (8, 16, 32, 64, 128),
    (4,),
    (4, 8, 16),
    (16, 32, 64, 128, 256, 512),
)
"""The sets of strides of one-stage detectors, most common first."""
PER_CELL = (1, 3, 2, 6, 9, 4, 5)
"""Anchors per cell, most common first."""


class NoHeadError(FastcamError):
    """The outputs do not match any known head; the message says why."""


@dataclass(frozen=True)
class Rows:
    """An output as A rows of V values, with the layout that it had."""

    name: str
    values: np.ndarray
    """float32 [A,V]."""
    layout: str
    """`rows`, `columns` or `grid`."""
    grid: Grid | None = None
    """The grid, if the output itself is a grid N×V×h×w."""

    @property
    def count(self) -> int:
        return len(self.values)

    @property
    def width(self) -> int:
        return int(self.values.shape[1])


def grids_for(rows: int, size: tuple[int, int], sets: Sequence[Sequence[int]] = STRIDES) -> tuple[Grid, ...]:
    """The grids whose cells add up to `rows` for an input of this height and width; empty where none do.

    Rows are Σ over the strides of ⌈H/s⌉·⌈W/s⌉·k, with the same k anchors in every cell.
    """
    for per_cell in PER_CELL:
        for strides in sets:
            grids = tuple(make_grid(stride, size, per_cell) for stride in strides)
            if sum(grid.rows for grid in grids) == rows:
                return grids
    return ()


def make_grid(stride: int, size: tuple[int, int], per_cell: int = 1) -> Grid:
    """The cells of a stride on an input of this height and width."""
    return Grid(-(-size[0] // stride), -(-size[1] // stride), stride, per_cell)


def grid_of_one(rows: int, size: tuple[int, int]) -> Grid | None:
    """The one grid with that many rows, for outputs of one stride each."""
    found = grids_for(rows, size, [(8,), (16,), (32,), (64,), (128,), (4,)])
    return found[0] if found else None


def strip_batch(arrays: Mapping[str, np.ndarray], batch: int = 1) -> dict[str, np.ndarray]:
    """The outputs of numbers of a run for its first picture, without their batch dimension.

    An output of two dimensions or fewer stays whole: it may have no batch.
    """
    return {
        name: array[0] if array.ndim > 2 and len(array) == batch else array
        for name, array in arrays.items()
        if isinstance(array, np.ndarray) and array.dtype.kind in "fiu" and array.ndim >= 1
    }


def as_grid(name: str, array: np.ndarray, size: tuple[int, int]) -> Rows | None:
    """An output V×h×w whose h×w is the grid of one stride, as rows."""
    if array.ndim != 3:
        return None
    values, height, width = array.shape
    for stride in (8, 16, 32, 64, 4):
        grid = make_grid(stride, size)
        if (grid.height, grid.width) == (height, width) and values >= 5:
            return Rows(name, _float(array.reshape(values, -1).T), "grid", grid)
    return None


def _float(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array, dtype=np.float32)


def as_rows(name: str, array: np.ndarray, size: tuple[int, int]) -> Rows | None:
    """An output A×V or V×A as rows. A is the number of cells of all strides or of one, or the larger size.

    None for a grid, and for an output that is a picture itself.
    """
    if as_grid(name, array, size) is not None or array.shape[-2:] == size:
        return None
    if array.ndim > 2:
        array = array.reshape(-1, array.shape[-1])
    first, second = array.shape
    one_stride = grid_of_one(first, size) is not None and not grids_for(second, size)
    if first >= second or one_stride:
        return Rows(name, _float(array), "rows")
    return Rows(name, _float(array.T), "columns")


def count_classes(number: int) -> str:
    return f"{number} class{'' if number == 1 else 'es'}"


def list_strides(grids: Sequence[Grid]) -> str:
    return ", ".join(f"{grid.stride:g}" for grid in grids)


def sum_rows(grids: Sequence[Grid]) -> str:
    parts = " + ".join(
        f"{grid.height}·{grid.width}{f'·{grid.per_cell}' if grid.per_cell > 1 else ''}" for grid in grids
    )
    return f"rows {sum(grid.rows for grid in grids)} = {parts} (strides {list_strides(grids)})"
