"""Real networks on real photos: with the preprocessing of the metadata they find the right classes."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from fastcam_runtime import Explainer, contract
from support.shared_data import shared

CAFFE = contract.Preprocess("BGR", (103.939, 116.779, 123.68), (1.0, 1.0, 1.0))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("real")


def graft(folder: Path, name: str, **options: object) -> Path:
    fastcam_export = pytest.importorskip("fastcam_export")
    target = folder / name
    fastcam_export.export(shared(f"models/{name}"), target, **options)
    return target


def hits(explain: Explainer) -> int:
    """Photos whose class, the number before the first underscore, is the top class."""
    photos = sorted(shared("photos").glob("[0-9]*.jpg"))[::2]
    return sum(explain(cv2.imread(str(photo))).index == int(photo.name.split("_")[0]) for photo in photos)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "preprocess", "least"),
    [("mobilenet_v2.onnx", contract.PREPROCESS["imagenet"], 20), ("squeezenet1_1-fp16.onnx", CAFFE, 17)],
)
def test_photos_are_recognised(folder: Path, name: str, preprocess: contract.Preprocess, least: int) -> None:
    path = graft(folder, name, preprocess=preprocess, resize="crop")
    explain = Explainer(path, threads=1, outputs=())
    assert hits(explain) >= least


@pytest.mark.slow
def test_dog_and_cat_are_where_they_are(folder: Path) -> None:
    """The dog sits in the upper half of the picture, the cat in the lower one."""
    labels = shared("imagenet_labels.txt").read_text().splitlines()
    path = graft(folder, "mobilenet_v2.onnx", outputs=["saliency_map", "cam"], labels=labels)
    explain = Explainer(path, threads=1, outputs=["cam"])
    frame = cv2.imread(str(shared("photos/extra_cat_dog.png")))
    dog, cat = explain.explain(frame, ["bull mastiff", "tabby"])
    heights = [
        float(np.average(np.arange(224), weights=one.maps[contract.CAM].sum(axis=1))) for one in (dog, cat)
    ]
    assert heights[0] < 112 < heights[1]
