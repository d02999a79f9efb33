"""Control maps that do not depend on the network: a good map must beat them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import cv2
import numpy as np
from numpy.typing import NDArray

Map = NDArray[np.float32]
Picture = NDArray[np.uint8]

BLOB_SIGMA = 1 / 8
"""Blur of the random blobs, as a share of the shorter side."""
EDGE_SIGMA = 1 / 32
"""Blur of the edges, as a share of the shorter side: a map of single pixels would be too fine to be fair."""
CENTRE_SIGMA = 1 / 4
"""Width of the Gaussian in the centre, as a share of each side."""


def random(picture: Picture, seed: int) -> Map:
    """Independent random pixels."""
    return np.random.default_rng([seed, 0]).random(picture.shape[:2], np.float32)


def blobs(picture: Picture, seed: int) -> Map:
    """Random blobs: noise that is as smooth as a map of a network, and its maximum is anywhere alike.

    The noise wraps around at the borders. If it were reflected there, it would be strongest at them.
    """
    height, width = picture.shape[:2]
    sigma = BLOB_SIGMA * min(height, width)
    rim = int(np.ceil(3 * sigma))
    noise = np.random.default_rng([seed, 1]).standard_normal((height, width)).astype(np.float32)
    blurred = cv2.GaussianBlur(np.pad(noise, rim, mode="wrap"), (0, 0), sigma)
    return unit(np.asarray(blurred[rim : rim + height, rim : rim + width], np.float32))


def centre(picture: Picture, seed: int) -> Map:
    """A Gaussian in the centre, where most photos have their subject."""
    rows, columns = (
        np.exp(-(((np.arange(side) + 0.5) / side - 0.5) ** 2) / (2 * CENTRE_SIGMA**2))
        for side in picture.shape[:2]
    )
    return unit(np.outer(rows, columns).astype(np.float32))


def sobel(picture: Picture, seed: int) -> Map:
    """Edges: the magnitude of the grey picture's gradient, blurred."""
    gray = cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY) if picture.ndim == 3 else picture
    across = cv2.Sobel(gray, cv2.CV_32F, 1, 0)
    down = cv2.Sobel(gray, cv2.CV_32F, 0, 1)
    return unit(_blur(np.hypot(across, down), EDGE_SIGMA))


def edges_in_centre(picture: Picture, seed: int) -> Map:
    """Edges × centre: the best guess without a network."""
    return sobel(picture, seed) * centre(picture, seed)


EDGES = "Sobel"
CONTROLS: Mapping[str, Callable[[Picture, int], Map]] = {
    "random": random,
    "blobs": blobs,
    "centre": centre,
    EDGES: sobel,
    "edges × centre": edges_in_centre,
}
"""By their names in the tables. Each takes a picture (BGR or grey) and a random seed."""


def _blur(picture: Map, share: float) -> Map:
    sigma = share * min(picture.shape)
    return np.asarray(cv2.GaussianBlur(picture, (0, 0), sigma, borderType=cv2.BORDER_REFLECT), np.float32)


def unit(values: Map) -> Map:
    """Min–max to 0…1; 0 for a constant map."""
    low, high = float(values.min()), float(values.max())
    return np.asarray((values - low) / max(high - low, 1e-12), np.float32)
