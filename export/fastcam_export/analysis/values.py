"""What is known about a value without running the model: its dimensions, and the constant behind it."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from ..errors import LoadError

Dims = tuple[int | None, ...]
"""None for a dimension that is free."""


def known_dims(value: ir.Value) -> Dims | None:
    """The dimensions that are declared or were inferred; None if the rank is unknown."""
    if value.shape is None:
        return None
    return tuple(d if isinstance(d, int) and d > 0 else None for d in value.shape)


def fixed_dims(value: ir.Value) -> tuple[int, ...] | None:
    """The dimensions of a tensor that has no free dimension, else None."""
    dims = known_dims(value)
    sizes = tuple(size for size in dims or () if size is not None)
    return sizes if dims is not None and len(sizes) == len(dims) else None


def constant(value: ir.Value | None) -> np.ndarray | None:
    """The array of an initializer or Constant node, else None.

    Raises:
        LoadError: The constant lies in an external data file that is missing or too short.
    """
    if value is None:
        return None
    tensor = ir.convenience.get_const_tensor(value)
    if tensor is None:
        return None
    try:
        array: np.ndarray = tensor.numpy()
    except (OSError, ValueError) as error:
        raise LoadError(f"the weights of '{value.name}' cannot be read: {error}") from error
    return array


def constant_behind(value: ir.Value | None) -> np.ndarray | None:
    """Like `constant`, but also finds a constant behind Identity nodes."""
    while value is not None and (node := value.producer()) is not None and node.op_type == "Identity":
        value = node.inputs[0]
    return constant(value)


def scalar(value: ir.Value | None) -> float | None:
    """The constant behind `value` where it holds a single number, else None."""
    array = constant(value)
    return float(array.reshape(-1)[0]) if array is not None and array.size == 1 else None
