"""The figures of one picture."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from fastcam_export.evaluate.controls import CONTROLS, EDGES
from fastcam_export.evaluate.judging import controls_of, judge
from fastcam_export.evaluate.measures.agreement import rank_correlation
from fastcam_export.evaluate.subject import Subject
from support.tiny_grafts import save_graft


def _photo() -> np.ndarray:
    random = np.random.default_rng(0)
    return cv2.GaussianBlur(random.integers(0, 256, (32, 48, 3), np.uint8), (0, 0), 3)


def test_controls_are_made_of_the_picture_without_letterbox_bars(tmp_path: Path) -> None:
    subject = Subject(save_graft(tmp_path / "m.onnx", size=(48, 48), resize="letterbox"), threads=1)
    fed, photo = subject.see(_photo()), _photo()
    found = controls_of(fed, 3)
    assert list(found) == list(CONTROLS)
    for name, values in found.items():
        assert values.shape == (48, 48)
        assert not values[:8].any()
        assert not values[40:].any()
        assert values[8:40] == pytest.approx(CONTROLS[name](photo, 3), abs=1e-6)
    judged = judge(subject, Path("a.png"), photo, None, 3)
    maps = subject.maps(fed.tensor)
    expected = rank_correlation(maps["saliency_map"][8:40], found[EDGES][8:40])
    assert judged.result.edges["saliency_map"] == pytest.approx(expected)
