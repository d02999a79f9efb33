"""The photos of the retraining experiments, read from the archive once and cached as arrays."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import torch
from fastcam_runtime.errors import FastcamError
from numpy.typing import NDArray

from ...paths import SHARED

ARCHIVE = SHARED / "data" / "imagenette64.zip"
CLASSES = 10


@dataclass(frozen=True)
class Photos:
    """Pictures N×H×W×3 uint8 RGB, and the number of each one's class."""

    pictures: NDArray[np.uint8]
    labels: NDArray[np.int64]


def read_photos(archive: Path, part: str, stride: int = 1) -> Photos:
    """Every `stride`-th photo of `train` or `val`, in alphabetical order.

    Raises:
        FastcamError: The archive is not there.
    """
    if not archive.exists():
        raise FastcamError(f"{archive}: no such file; --data names the archive of Imagenette at 64×64")
    with zipfile.ZipFile(archive) as opened:
        names = sorted(n for n in opened.namelist() if n.startswith(f"{part}/") and n.endswith(".jpg"))
        classes = sorted({name.split("/")[1] for name in names})
        chosen = names[::stride]
        pictures = [_decode(opened.read(name)) for name in chosen]
    labels = [classes.index(name.split("/")[1]) for name in chosen]
    return Photos(np.stack(pictures), np.array(labels, np.int64))


def normalised(photos: Photos, mean: Sequence[float], std: Sequence[float]) -> torch.Tensor:
    """Network inputs, N×3×H×W."""
    values = (photos.pictures / np.float32(255) - np.asarray(mean, np.float32)) / np.asarray(std, np.float32)
    return torch.from_numpy(np.ascontiguousarray(values.transpose(0, 3, 1, 2), np.float32))


def _decode(data: bytes) -> NDArray[np.uint8]:
    picture = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    assert picture is not None  # the archive holds photos only
    return np.ascontiguousarray(picture[:, :, ::-1])
