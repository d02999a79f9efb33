"""Pointing game, energy and pixel AUC on drawn squares."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest
from fastcam_export.evaluate.localisation import Objects, energy_inside, on_input, pixel_auc, pointing
from fastcam_export.evaluate.masks import ranking
from fastcam_runtime.errors import FastcamError
from fastcam_runtime.image import Geometry


def _square(size: int, top: int, left: int, side: int) -> np.ndarray:
    drawn = np.zeros((size, size), bool)
    drawn[top : top + side, left : left + side] = True
    return drawn


def test_a_map_of_the_square_hits_it_and_one_beside_misses() -> None:
    marked = _square(32, 4, 6, 8)
    on, beside = (_square(32, 4, left, 8).astype(np.float32) for left in (6, 20))
    assert (pointing(on, marked), energy_inside(on, marked)) == (1.0, 1.0)
    assert (pointing(beside, marked), energy_inside(beside, marked)) == (0.0, 0.0)
    half = _square(32, 4, 10, 8).astype(np.float32)
    assert (pointing(half, marked), energy_inside(half, marked)) == (0.5, 0.5)


def test_pixel_auc_is_the_share_of_pairs_in_the_right_order() -> None:
    random = np.random.default_rng(0)
    saliency, marked = random.random((12, 12)).astype(np.float32), _square(12, 2, 3, 5)
    pairs = [a > b for a in saliency[marked] for b in saliency[~marked]]
    assert pixel_auc(ranking(saliency), marked) == pytest.approx(np.mean(pairs))
    assert pixel_auc(ranking(marked.astype(np.float32)), marked) == 1.0


def test_boxes_of_a_coco_file_reach_the_networks_input(tmp_path: Path) -> None:
    coco = {
        "images": [{"id": 7, "file_name": "a.jpg"}, {"id": 8, "file_name": "b.jpg"}],
        "annotations": [{"image_id": 7, "bbox": [10, 20, 30, 40]}, {"image_id": 7, "bbox": [90, 0, 10, 10]}],
    }
    (tmp_path / "coco.json").write_text(json.dumps(coco))
    objects = Objects(tmp_path / "coco.json")
    assert objects.of(tmp_path / "b.jpg", (100, 100)) is None
    marked = objects.of(tmp_path / "a.jpg", (100, 100))
    assert marked is not None
    assert marked.sum() == 30 * 40 + 10 * 10
    assert marked[20:60, 10:40].all()
    cropped = on_input(marked, Geometry.lay((100, 100), (50, 50), "stretch"))
    assert cropped[10:30, 5:20].all()
    assert cropped.sum() == 15 * 20 + 5 * 5


def test_letterbox_bars_and_what_a_crop_cuts_off_are_not_marked() -> None:
    everything = np.ones((100, 50), bool)
    boxed = on_input(everything, Geometry.lay((100, 50), (40, 40), "letterbox"))
    assert boxed[:, 10:30].all()
    assert boxed.sum() == 40 * 20
    edge = np.zeros((100, 50), bool)
    edge[:20] = True
    assert not on_input(edge, Geometry.lay((100, 50), (40, 40), "crop")).any()


def test_masks_beside_the_pictures(tmp_path: Path) -> None:
    cv2.imwrite(str(tmp_path / "cat_mask.png"), _square(30, 5, 5, 10) * np.uint8(255))
    objects = Objects(tmp_path)
    marked = objects.of(tmp_path / "cat.jpg", (30, 30))
    assert marked is not None
    assert (marked == _square(30, 5, 5, 10)).all()
    assert objects.of(tmp_path / "dog.jpg", (30, 30)) is None
    with pytest.raises(FastcamError, match=r"cat_mask\.png: not a mask of 40×20"):
        objects.of(tmp_path / "cat.jpg", (20, 40))


@pytest.mark.parametrize(
    "content", ["not json", "[]", '{"images": []}', '{"images": [{}], "annotations": []}']
)
def test_what_is_no_coco_file_is_refused_in_one_line(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(FastcamError, match=r"x\.json: not a COCO file"):
        Objects(tmp_path / "x.json")
