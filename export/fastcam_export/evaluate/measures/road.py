"""ROAD: removed pixels are replaced by the weighted mean of their neighbours, plus a little noise.

Every missing pixel x satisfies Σ w·(x_neighbour − x) = 0 over its neighbours inside the picture, with w = 1/6
for direct and 1/12 for diagonal neighbours. Conjugate gradients solve this sparse, positive definite system,
starting from the solution on a coarser grid. (Rong et al., A Consistent and Efficient Evaluation Strategy for
Attribution Methods, 2022.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import cv2
import numpy as np
from numpy.typing import NDArray

from .baselines import Tensor
from .masks import top
from .perturbation import Ask

LEVELS = (0.25, 0.5, 0.75)
"""Shares of the pixels that are removed."""
NOISE = 0.01
"""Deviation of the noise on imputed pixels, as a share of the picture's own deviation."""
_KERNEL = np.array([[1, 2, 1], [2, 0, 2], [1, 2, 1]], np.float32) / 12
_SMALLEST = 16
_STEPS = 20
_ENOUGH = 1e-20
"""Squared residuals below this are rounding error."""


def impute(tensor: Tensor, missing: NDArray[np.bool_], steps: int = _STEPS) -> Tensor:
    """C×H×W with the missing pixels, H×W, filled in from their surroundings, without noise.

    `steps` are the iterations of conjugate gradients on every grid.
    """
    known = (~missing).astype(np.float32)
    if missing.all():
        return np.broadcast_to(tensor.mean(axis=(1, 2), keepdims=True), tensor.shape).astype(np.float32)
    values = np.ascontiguousarray((tensor * known).transpose(1, 2, 0), np.float32)
    return np.ascontiguousarray(_fill(values, known, steps).transpose(2, 0, 1))


def gains(tensor: Tensor, ranks: Mapping[str, NDArray[np.int32]], ask: Ask, seed: int) -> dict[str, float]:
    """For each ranking: (p without the least salient pixels − p without the most salient pixels) / 2.

    The mean over `LEVELS`, as in `ROADCombined` of the package `grad-cam`. 0 for a random map. All rankings
    get the same noise, so the figure of one does not depend on the others.
    """
    deviation = NOISE * float(tensor.std())

    def versions() -> Iterator[Tensor]:
        for rank in ranks.values():
            random = np.random.default_rng(seed)
            least_first = rank.size - 1 - rank
            for level in LEVELS:
                for order in (rank, least_first):
                    missing = top(order, level)
                    noise = deviation * random.standard_normal(tensor.shape).astype(np.float32)
                    yield impute(tensor, missing) + missing * noise

    answers = ask(versions()).reshape(len(ranks), len(LEVELS), 2)
    means = ((answers[..., 1] - answers[..., 0]) / 2).mean(axis=1)
    return dict(zip(ranks, means.tolist(), strict=True))


def _fill(values: Tensor, known: Tensor, steps: int) -> Tensor:
    """From H×W×C with zeros for missing pixels to the solution, coarse grids first."""
    shape = values.shape
    free = np.repeat(1 - known[..., None], shape[2], axis=2)
    x = values.copy()
    if min(known.shape) >= 2 * _SMALLEST:
        x += free * _from_coarser(values, known, steps)
    # A x = weight·x − neighbours(x) on the missing pixels; the known ones enter through the residual.
    weight = free * _neighbours(np.ones(shape, np.float32))
    residual = free * _neighbours(x) - weight * x
    direction = residual.copy()
    size = _square(residual, residual)
    for _ in range(steps):
        if size < _ENOUGH:
            break
        image = weight * direction
        image -= free * _neighbours(direction)
        step = size / max(_square(direction, image), _ENOUGH)
        x = cv2.scaleAdd(direction, step, x).reshape(shape)
        residual = cv2.scaleAdd(image, -step, residual).reshape(shape)
        before, size = size, _square(residual, residual)
        direction = cv2.scaleAdd(direction, size / before, residual).reshape(shape)
    return np.asarray(x, np.float32)


def _square(one: Tensor, other: Tensor) -> float:
    return float(np.vdot(one, other))


def _from_coarser(values: Tensor, known: Tensor, steps: int) -> Tensor:
    """The solution on a grid of half the size, enlarged."""
    half = (known.shape[1] // 2, known.shape[0] // 2)
    weight = cv2.resize(known, half, interpolation=cv2.INTER_AREA)
    sums = _channels(cv2.resize(values, half, interpolation=cv2.INTER_AREA))
    means = sums / np.maximum(weight, 1e-6)[..., None]
    filled = _fill(np.where(weight[..., None] > 0, means, 0), (weight > 0).astype(np.float32), 2 * steps)
    return _channels(cv2.resize(filled, known.shape[::-1], interpolation=cv2.INTER_LINEAR))


def _neighbours(picture: Tensor) -> Tensor:
    summed = cv2.filter2D(picture, cv2.CV_32F, _KERNEL, borderType=cv2.BORDER_CONSTANT)
    return np.asarray(summed.reshape(picture.shape), np.float32)


def _channels(picture: Tensor) -> Tensor:
    """Restore the channel axis, which OpenCV drops for a picture with one channel."""
    return picture if picture.ndim == 3 else picture[..., None]
