"""A grafted file and a clip for `fastcam run`."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from support.tiny_grafts import save_graft


@pytest.fixture(scope="module")
def graft(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_graft(tmp_path_factory.mktemp("run") / "graft.onnx", size=(64, 96))


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real video of 30 frames: a white square moves over a dark background."""
    path = tmp_path_factory.mktemp("clip") / "clip.mp4"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"mp4v"), 12.5, (160, 120))
    assert writer.isOpened()
    for i in range(30):
        frame = np.full((120, 160, 3), 30, np.uint8)
        frame[40:80, 4 * i : 4 * i + 40] = 255
        writer.write(frame)
    writer.release()
    return path
