"""A model on a synthetic picture, and the metadata of its graft."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from fastcam_runtime.contract import METADATA_KEY, Metadata


def run(model: onnx.ModelProto | Path, **feeds: np.ndarray) -> dict[str, np.ndarray]:
    """All outputs by name."""
    source = str(model) if isinstance(model, Path) else model.SerializeToString()
    session = ort.InferenceSession(source, providers=["CPUExecutionProvider"])
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds), strict=True))


def picture(*shape: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def metadata_of(model: onnx.ModelProto) -> Metadata:
    (text,) = [entry.value for entry in model.metadata_props if entry.key == METADATA_KEY]
    return Metadata.from_json(text)
