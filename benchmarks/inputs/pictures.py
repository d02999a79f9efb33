"""Pictures to run networks on: real photos if they are beside the checkout, else synthetic ones."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
from fastcam_runtime.contract import PREPROCESS
from numpy.typing import NDArray

from ..paths import SHARED
from .networks import SIZE

PHOTOS = SHARED / "photos"


def pictures(count: int) -> dict[str, NDArray[np.float32]]:
    """`count` pictures by name, each 1×3×224×224, RGB, normalised as ImageNet's usually are."""
    return {name: _normalised(picture) for name, picture in uint8_pictures(count).items()}


def uint8_pictures(count: int) -> dict[str, NDArray[np.uint8]]:
    """The same as OpenCV reads them: BGR, of any size."""
    files = sorted(PHOTOS.glob("*.*"))
    if not files:
        return {f"painted {seed}": _painted(seed) for seed in range(count)}
    chosen = files[:: max(1, len(files) // count)][:count]
    return {path.stem: _photo(path) for path in chosen}


def _photo(path: Path) -> NDArray[np.uint8]:
    picture: NDArray[np.uint8] | None = cv2.imread(str(path))
    if picture is None:
        raise RuntimeError(f"{path} is not a picture that OpenCV reads")
    return picture


def _painted(seed: int) -> NDArray[np.uint8]:
    """Discs of random colours on a gradient, with some noise."""
    random = np.random.default_rng(seed)
    picture = np.linspace(0, 255, SIZE)[:, None, None] * random.random((1, SIZE, 3))
    for _ in range(6):
        centre, radius = random.integers(0, SIZE, 2).tolist(), int(random.integers(10, 60))
        cv2.circle(picture, centre, radius, random.integers(0, 256, 3).tolist(), -1)
    noisy = picture + random.normal(0, 10, picture.shape)
    return noisy.clip(0, 255).astype(np.uint8)


def _normalised(picture: NDArray[np.uint8]) -> NDArray[np.float32]:
    small: NDArray[np.uint8] = cv2.resize(picture, (SIZE, SIZE), interpolation=cv2.INTER_AREA)
    imagenet = PREPROCESS["imagenet"]
    values = (small[:, :, ::-1] - np.array(imagenet.mean)) / np.array(imagenet.std)
    return np.ascontiguousarray(values.transpose(2, 0, 1)[None], dtype=np.float32)
