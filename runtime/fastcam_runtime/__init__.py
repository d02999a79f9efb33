"""Frames in, maps and pictures out: numpy, onnxruntime and OpenCV only."""

from . import telemetry

telemetry.switch_off()  # before anything below imports onnxruntime

# ruff: noqa: E402
from .classes import ClassError
from .draw.overlay import Overlay, overlay
from .errors import FastcamError, ModelError, SinkError, SourceError
from .explainer import Explainer
from .explanation import Explanation
from .image import Geometry

__all__ = [
    "ClassError",
    "Explainer",
    "Explanation",
    "FastcamError",
    "Geometry",
    "ModelError",
    "Overlay",
    "SinkError",
    "SourceError",
    "overlay",
]
