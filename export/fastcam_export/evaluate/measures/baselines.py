"""Replacements for deleted pixels."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import cv2
import numpy as np
from numpy.typing import NDArray

BLUR_SIGMA = 1 / 20
"""Sigma of the blur, as a share of the picture's shorter side (11 pixels of 224)."""

Tensor = NDArray[np.float32]
"""One picture or several, [N,]C×H×W in the network's own values."""


def blurred(tensor: Tensor) -> Tensor:
    """The blurred picture: it keeps the colours and loses the details."""
    sigma = BLUR_SIGMA * min(tensor.shape[1:])
    planes = [cv2.GaussianBlur(plane, (0, 0), sigma, borderType=cv2.BORDER_REFLECT) for plane in tensor]
    return np.stack(planes).astype(np.float32)


def mean_colour(tensor: Tensor) -> Tensor:
    """The picture's own mean colour everywhere."""
    return np.broadcast_to(tensor.mean(axis=(1, 2), keepdims=True), tensor.shape).astype(np.float32)


BASELINES: Mapping[str, Callable[[Tensor], Tensor]] = {"blur": blurred, "mean": mean_colour}
"""By their names in the tables. Each takes and returns C×H×W in the network's own values."""
