"""The measured networks, and the folder of the results. `modules.py` builds the networks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from fastcam_runtime.errors import ModelError
from numpy.typing import NDArray

from ..paths import SHARED

DETECTORS = SHARED / "models" / "detectors"
"""Files of detectors beside the checkout; they may be missing."""
SIZE = 224


@dataclass(frozen=True)
class BenchmarkNetwork:
    """A network as the tables name it."""

    title: str
    linear_head: bool
    """GlobalAveragePool → Linear: class maps in closed form."""


NETWORKS = {
    "resnet18": BenchmarkNetwork("ResNet-18", linear_head=True),
    "resnet50": BenchmarkNetwork("ResNet-50", linear_head=True),
    "vgg16": BenchmarkNetwork("VGG16", linear_head=False),
    "densenet121": BenchmarkNetwork("DenseNet-121", linear_head=True),
    "mobilenet_v2": BenchmarkNetwork("MobileNetV2", linear_head=True),
    "mobilenet_v3_small": BenchmarkNetwork("MobileNetV3-small", linear_head=False),
    "squeezenet1_1": BenchmarkNetwork("SqueezeNet 1.1", linear_head=False),
    "efficientnet_lite0": BenchmarkNetwork("EfficientNet-Lite0", linear_head=True),
}


def check_name(name: str) -> str:
    """`name` if it is one of `NETWORKS`.

    Raises:
        ModelError: There is no such network.
    """
    if name not in NETWORKS:
        raise ModelError(f"no network '{name}'; there are {', '.join(NETWORKS)}")
    return name


def noise_picture(size: int = SIZE) -> NDArray[np.float32]:
    """A normalised picture of noise, 1×3×size×size."""
    return np.random.default_rng(0).standard_normal((1, 3, size, size)).astype(np.float32)
