"""The measured int8 networks: our own static quantisation, as by `fastcam quantize`."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import cv2
import numpy as np
from fastcam_export import export
from fastcam_export.quantize.quantizing import quantize

from ..paths import RESULTS
from .modules import plain_file
from .networks import SIZE
from .pictures import uint8_pictures

NETWORKS = ("efficientnet_lite0", "mobilenet_v2")
PICTURES = 16
"""Pictures for the ranges of the activations."""


def int8_file(name: str) -> Path:
    """The network as QDQ, weights per channel; made once and kept."""
    path = RESULTS / "models" / f"{name}-int8-{SIZE}.onnx"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        pictures = [np.asarray(cv2.resize(p, (SIZE, SIZE))) for p in uint8_pictures(PICTURES).values()]
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            metadata = export(plain_file(name), Path(folder) / "float.onnx").metadata
            quantize(plain_file(name), Path(folder) / "int8.onnx", pictures, metadata)
            os.replace(Path(folder) / "int8.onnx", path)
    return path
