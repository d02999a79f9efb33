"""The default model, as a package, so that an installed `fastcam demo` finds it."""

from __future__ import annotations

from pathlib import Path


def default_model() -> Path:
    """The shipped EfficientNet-Lite0: ImageNet, input 224², labels and preprocessing in its metadata."""
    return Path(__file__).parent / "efficientnet-lite0.onnx"
