"""Frames in, maps and pictures out: numpy, onnxruntime and OpenCV only."""

from .classes import ClassError
from .errors import FastcamError, ModelError, SinkError, SourceError
from .explainer import Explainer
from .explanation import Explanation
from .overlay import Overlay, overlay
from .preprocess import Geometry

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
