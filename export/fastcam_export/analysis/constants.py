"""The constant behind a value, if it has one."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from ..errors import LoadError


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


def scalar(value: ir.Value | None) -> float | None:
    """The constant behind `value` where it holds a single number, else None."""
    array = constant(value)
    return float(array.reshape(-1)[0]) if array is not None and array.size == 1 else None
