"""Add saliency outputs to a convolutional network.

Example:
    >>> import fastcam_export
    >>> model = fastcam_export.graft("model.onnx", outputs=["saliency_map", "scales"])
    >>> [output.name for output in model.graph.output][:3]
    ['logits', 'saliency_map', 'saliency_scale_1']
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import fastcam_runtime  # noqa: F401 (first: it switches onnxruntime's telemetry off)

from .errors import GraftError, LoadError
from .options import Options

if TYPE_CHECKING:
    from .analysis.taps import Tap
    from .api import export, graft

__all__ = ["GraftError", "LoadError", "Options", "Tap", "export", "graft"]

_LATER = {"Tap": "analysis.taps", "export": "api", "graft": "api"}
"""Names that need onnx, imported on first use: the help of the commands works without onnx."""


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_LATER[name]}", __name__), name)
