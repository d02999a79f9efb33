"""Add saliency outputs to a convolutional network.

Example:
    >>> import fastcam_export
    >>> model = fastcam_export.graft("model.onnx", outputs=["saliency_map", "scales"])
    >>> [output.name for output in model.graph.output][:3]
    ['logits', 'saliency_map', 'saliency_scale_1']
"""

from __future__ import annotations

import fastcam_runtime  # noqa: F401 (first: it switches onnxruntime's telemetry off)

from .analysis.taps import Tap
from .api import export, graft
from .errors import GraftError, LoadError
from .options import Options

__all__ = ["GraftError", "LoadError", "Options", "Tap", "export", "graft"]
