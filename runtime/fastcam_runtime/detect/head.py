"""The head of a one-stage detector, as the file's metadata describes it.

The exporter recognises and describes it; the runtime decodes with the description. A head gives one row per
anchor: a box, a score per class, and in some families an objectness. The rows follow the cells of
one grid per stride, from the finest grid to the coarsest.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import ModelError, closest

LAYOUTS = ("rows", "columns", "grid", "end_to_end")
"""`rows` N×A×V, `columns` N×V×A, `grid` N×V×h×w per stride, `end_to_end`: rows of chosen boxes, each with
a score and a class."""

DECODINGS = (
    "xyxy",
    "cxcywh",
    "yxyx",
    "offsets",
    "distances",
    "distribution",
    "anchors",
    "priors",
    "tanh",
)
"""How a box is encoded; see `decode`."""

UNITS = ("pixels", "fraction")
"""Decoded boxes are in pixels of the network's input, or in fractions of its width and height."""

ACTIVATIONS = ("none", "sigmoid", "softmax")
"""The function that turns the head's scores into probabilities."""

ORDERS = ("cells", "anchors")
"""The order of the rows: by cell and then anchor (h, w, k), or by anchor and then cell (k, h, w)."""


@dataclass(frozen=True)
class Grid:
    """The cells of one stride."""

    height: int
    width: int
    stride: float
    """Distance between cells, in pixels of the network's input."""
    per_cell: int = 1
    """Anchors in each cell."""

    @property
    def rows(self) -> int:
        return self.height * self.width * self.per_cell


@dataclass(frozen=True)
class Head:
    """Where a detector's boxes and scores are, and how to decode them.

    `boxes`, `scores`, `objectness` and `indices` name outputs: one for all rows, or one per grid. `*_at` is
    the first of their values in a row.
    """

    layout: str
    classes: int
    boxes: tuple[str, ...]
    scores: tuple[str, ...]
    objectness: tuple[str, ...] = ()
    grids: tuple[Grid, ...] = ()
    """From fine to coarse; empty if the rows do not belong to cells: the network chooses its boxes itself."""
    box_at: int = 0
    score_at: int = 5
    objectness_at: int = 4
    indices: tuple[str, ...] = ()
    """For `end_to_end`: the output with each row's class; empty if that with the scores has it."""
    index_at: int = 5
    decode: str = "cxcywh"
    unit: str = "pixels"
    bins: int = 0
    """Values per side of a box that is coded as a `distribution`."""
    centre: float = 0.5
    """Where in its cell a box of `distances` is anchored: 0.5 in the middle, 0 at the upper left."""
    order: str = "cells"
    activation: str = "none"
    objectness_activation: str = "none"
    powers: tuple[float, float] = (1.0, 1.0)
    """The score is objectness to the first power times class probability to the second."""
    anchors: tuple[tuple[float, ...], ...] = ()
    """Width, height, width, height… of the anchors of a cell, for each grid, in pixels."""
    variances: tuple[float, float] = (0.1, 0.2)
    """For `priors`: the factors of the offsets and of the logarithms of the sizes."""
    family: str = ""
    why: str = ""
    """How it was recognised, as text."""

    def __post_init__(self) -> None:
        for field, known in (
            ("layout", LAYOUTS),
            ("decode", DECODINGS),
            ("unit", UNITS),
            ("order", ORDERS),
            ("activation", ACTIVATIONS),
            ("objectness_activation", ACTIVATIONS[:2]),
        ):
            value = getattr(self, field)
            if value not in known:
                raise ModelError(
                    f"detector head: {field} is {value!r}, not one of {', '.join(known)}"
                    f"{closest(str(value), known)}"
                )
        if self.decode in ("anchors", "priors") and len(self.anchors) != len(self.grids):
            raise ModelError(
                f"detector head: boxes coded by {self.decode} need anchors for {len(self.grids)} grids"
            )
        if self.decode == "distribution" and self.bins < 2:
            raise ModelError("detector head: boxes coded as a distribution need bins")

    @property
    def rows(self) -> int:
        return sum(grid.rows for grid in self.grids)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Every output that decoding reads, each once."""
        return tuple(dict.fromkeys((*self.scores, *self.objectness, *self.indices, *self.boxes)))

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Head:
        """Read the result of `dataclasses.asdict`; unknown keys of a newer writer are ignored."""
        known = {field.name for field in dataclasses.fields(cls)}
        values = {key: as_tuples(value) for key, value in fields.items() if key in known}
        sides = {field.name for field in dataclasses.fields(Grid)}
        values["grids"] = tuple(
            Grid(**{k: v for k, v in grid.items() if k in sides}) for grid in fields.get("grids", ())
        )
        return cls(**values)


def as_tuples(value: Any) -> Any:
    """The value with its lists as tuples, at any depth."""
    return tuple(map(as_tuples, value)) if isinstance(value, list | tuple) else value
