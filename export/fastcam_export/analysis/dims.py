"""The dimensions of a tensor, as far as they are known."""

from __future__ import annotations

import onnx_ir as ir

Dims = tuple[int | None, ...]
"""None for a dimension that is free."""


def known_dims(value: ir.Value) -> Dims | None:
    """The dimensions that are declared or were inferred; None where not even the rank is known."""
    if value.shape is None:
        return None
    return tuple(d if isinstance(d, int) and d > 0 else None for d in value.shape)


def fixed_dims(value: ir.Value) -> tuple[int, ...] | None:
    """The dimensions of a tensor of which none is free, else None."""
    dims = known_dims(value)
    sizes = tuple(size for size in dims or () if size is not None)
    return sizes if dims is not None and len(sizes) == len(dims) else None
