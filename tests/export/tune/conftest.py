"""A small network and pictures to tune it with."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import onnx
import pytest
from support.networks import small_cnn


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tune")


@pytest.fixture(scope="module")
def plain(folder: Path) -> Path:
    path = folder / "plain.onnx"
    onnx.save(small_cnn(), path)
    return path


@pytest.fixture(scope="module")
def pictures(folder: Path) -> list[np.ndarray]:
    """Pictures of the network's input size, so that nothing is resized."""
    random = np.random.default_rng(0)
    target = folder / "pictures"
    target.mkdir()
    images = [cv2.GaussianBlur(random.integers(0, 256, (64, 64, 3), np.uint8), (5, 5), 0) for _ in range(3)]
    for number, image in enumerate(images):
        cv2.imwrite(str(target / f"{number}.png"), image)
    return images
