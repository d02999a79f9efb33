"""The plane of the picture that maps are drawn on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from ..analysis.ends import Ends
from ..method.bilinear import Size
from .branch import Branch


@dataclass(frozen=True)
class Canvas:
    """The picture's height and width: known, or learnt in the graph where the model leaves them free."""

    batch: int | str | None
    dims: tuple[int | str | None, int | str | None]
    """Height and width as the model declares them, free ones by their name."""
    size: Size
    """Height and width where fixed, None where free."""
    size_input: tuple[ir.Value, ...]
    """The further input of a step that draws on a free canvas: int64 [2], height and width at run time."""

    @property
    def map_shape(self) -> tuple[int | str | None, ...]:
        """The declared shape of a map, N×H×W."""
        return (self.batch, *self.dims)


def make_canvas(branch: Branch, ends: Ends) -> Canvas:
    """The canvas of a picture; adds the nodes that read its size, if it is free."""
    declared = list(ends.image.shape) if ends.image.shape is not None else [None] * 4
    dims = [d if isinstance(d, int) or d is None else d.value for d in declared]
    first = 2 if ends.layout == "NCHW" else 1
    size_input: tuple[ir.Value, ...] = ()
    if None in ends.free_size:
        shape = branch.node("Shape", ends.image, name="canvas/shape")
        axes = branch.constant("canvas/axes", np.array([first, first + 1], np.int64))
        size_input = (branch.node("Gather", shape, axes, name="canvas/size"),)
    return Canvas(dims[0], (dims[first], dims[first + 1]), ends.free_size, size_input)
