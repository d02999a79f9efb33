"""The size of the maps at the outputs: the height and width of the picture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from ..analysis.ends import Ends
from ..method.bilinear import FreeSize
from .branch import Branch


@dataclass(frozen=True)
class MapSize:
    """Height and width of a map: known, or read in the graph where the model leaves them free."""

    batch: int | str | None
    dims: tuple[int | str | None, int | str | None]
    """Height and width as the model declares them, free ones by their name."""
    size: FreeSize
    """Height and width where fixed, None where free."""
    size_input: tuple[ir.Value, ...]
    """A further input of the steps that resize to a free size: int64 [2], height and width at run time."""

    @property
    def map_shape(self) -> tuple[int | str | None, ...]:
        """The declared shape of a map, N×H×W."""
        return (self.batch, *self.dims)


def read_map_size(branch: Branch, ends: Ends) -> MapSize:
    """The map size of a picture. Adds the nodes that read it where it is free."""
    declared = list(ends.image.shape) if ends.image.shape is not None else [None] * 4
    dims = [d if isinstance(d, int) or d is None else d.value for d in declared]
    first = 2 if ends.layout == "NCHW" else 1
    size_input: tuple[ir.Value, ...] = ()
    if None in ends.free_size:
        shape = branch.node("Shape", ends.image, name="canvas/shape")
        axes = branch.constant("canvas/axes", np.array([first, first + 1], np.int64))
        size_input = (branch.node("Gather", shape, axes, name="canvas/size"),)
    return MapSize(dims[0], (dims[first], dims[first + 1]), ends.free_size, size_input)
