"""The dimensions that a model's author declared."""

from __future__ import annotations

import onnx_ir as ir


def declared_dims(value: ir.Value) -> list[int | None]:
    """The dimensions of a tensor, None for those that are free; empty where not even the rank is known."""
    dims = list(value.shape) if value.shape is not None else []
    return [d if isinstance(d, int) and d > 0 else None for d in dims]
