"""Frames in, maps and pictures out: numpy, onnxruntime and OpenCV only."""

from . import start

start.start_quietly()  # before the first import that takes time

# ruff: noqa: E402
from . import limits

start.switch_telemetry_off()  # before anything below imports onnxruntime
if start.is_command():  # a program's own pictures are not ours to limit
    limits.limit_pictures()

from .classes import ClassError, Prediction
from .draw.overlay import Overlay, overlay
from .errors import FastcamError, ModelError, SinkError, SourceError
from .explainer import Explainer
from .explanation import Explanation
from .image import Geometry
from .regions import Region, regions, share_inside

__all__ = [
    "ClassError",
    "Explainer",
    "Explanation",
    "FastcamError",
    "Geometry",
    "ModelError",
    "Overlay",
    "Prediction",
    "Region",
    "SinkError",
    "SourceError",
    "overlay",
    "regions",
    "share_inside",
]
