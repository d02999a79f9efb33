"""Pictures for the tests of `fastcam evaluate`."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Red squares on gray, at different places."""
    folder = tmp_path / "photos"
    folder.mkdir()
    for k in range(4):
        picture = np.full((64, 96, 3), 60, np.uint8)
        picture[8 + 8 * k : 24 + 8 * k, 10 + 16 * k : 34 + 16 * k, 2] = 255
        cv2.imwrite(str(folder / f"{k}.png"), picture)
    return folder
