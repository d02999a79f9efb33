"""The colours and lines of boxes."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from fastcam_runtime.detect.detections import Detection
from fastcam_runtime.draw.boxes import class_colour, draw_boxes


def test_any_two_classes_of_coco_can_be_told_apart() -> None:
    """With hues alone a person (0) had nearly the green of a baseball bat (34), 3.8 apart in Lab."""
    colours = np.array([class_colour(k) for k in range(80)], np.float32)[None] / 255
    lab = cv2.cvtColor(colours, cv2.COLOR_BGR2LAB)[0]
    apart = np.linalg.norm(lab[:, None] - lab, axis=2) + 1000 * np.eye(80)
    assert apart.min() > 4
    assert apart[0].min() > 10


@pytest.mark.parametrize(("height", "line", "edge"), [(240, 1, 1), (480, 2, 1), (2400, 10, 3)])
def test_the_dark_edge_of_a_line_grows_with_the_picture(height: int, line: int, edge: int) -> None:
    """One pixel on both sides of ten cannot be seen in a photo of 4000 pixels."""
    picture = np.full((height, height, 3), 255, np.uint8)
    third = height // 3
    draw_boxes(picture, [Detection((third, third, 2 * third, 2 * third), "a", 0.9, 0, 0)])
    row = picture[height // 2, : height // 2].astype(int)
    dark, coloured = (row.max(axis=1) < 128).sum(), (np.abs(row - class_colour(0)).max(axis=1) < 8).sum()
    assert abs(dark - 2 * edge) <= 2
    assert abs(coloured - line) <= 1
