"""How networks of others, and those trained here, take their pictures."""

from __future__ import annotations

from typing import Any

CAFFE: dict[str, Any] = {"order": "BGR", "mean": [103.939, 116.779, 123.68], "std": [1, 1, 1]}
"""Caffe's networks, and Keras's ResNet-50."""
IMAGENETTE_MEAN, IMAGENETTE_STD = (0.4593, 0.4555, 0.4284), (0.2743, 0.271, 0.2943)
"""Mean and deviation of Imagenette's training photos at 64×64, RGB, 0…1."""
IMAGENETTE: dict[str, Any] = {
    "order": "RGB",
    "mean": [round(255 * x, 2) for x in IMAGENETTE_MEAN],
    "std": [round(255 * x, 2) for x in IMAGENETTE_STD],
}
"""The small ResNets that are trained on Imagenette."""
