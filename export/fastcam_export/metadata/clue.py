"""The values that one convention states in a model file, and the data that its reader needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx_ir as ir
from fastcam_runtime.contract import ORDERS, Preprocess
from fastcam_runtime.errors import FastcamError


@dataclass(frozen=True)
class ModelFile:
    """The data that the readers need."""

    metadata: Mapping[str, str]
    """The file's own metadata."""
    path: Path | None
    """None for a model in memory."""
    image: ir.Value
    """The picture's input."""
    nodes: list[ir.Node]
    """The nodes that carry the picture to the scores."""


@dataclass(frozen=True)
class Clue:
    """The values that one convention states. What it does not state is None or empty."""

    where: str
    """Where they are stated, for a person: `'names' in the file`."""
    preprocess: Preprocess | None = None
    resize: str | None = None
    labels: tuple[str, ...] = ()


def scaled(order: str, mean: Any, std: Any, factor: float = 1.0, pad: int | None = None) -> Preprocess | None:
    """The preprocessing (x·factor − mean) / std; None if the numbers are invalid.

    One number applies to all channels. Wrong values in a file are not the user's mistake, so no error.
    """
    channels = ORDERS[order] or 3

    def numbers(given: Any) -> tuple[float, ...]:
        values = given if isinstance(given, list | tuple) else [given]
        found = tuple(float(value) / factor for value in values)
        return found * channels if len(found) == 1 else found

    try:
        return Preprocess(order, numbers(mean), numbers(std), pad=pad)
    except (FastcamError, TypeError, ValueError, ZeroDivisionError, OverflowError):
        return None
