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


def test_a_network_of_one_logit_is_judged_by_its_answer(tmp_path: Path) -> None:
    """The logit is red less blue: the answer to a blue picture is no."""
    subject = Subject(save_graft(tmp_path / "m.onnx", head="one", outputs=("saliency_map",)), threads=1)
    photo = np.full((32, 48, 3), 60, np.uint8)
    photo[8:20, 10:30] = (255, 60, 60)
    (yes,) = subject.probabilities([subject.see(photo).tensor])[0]
    assert yes < 0.4
    judged = judge(subject, Path("a.png"), photo, None, 0)
    assert judged.says_no
    assert judged.result.label == "not red"
    assert judged.result.probability == pytest.approx(1 - yes)
    figures = judged.result.methods["saliency_map"]
    # The square is where the map is highest, and what speaks for no: without it, the network says no less.
    assert figures["score_mean"] > 0.05
    curve = judged.result.curves["deletion_mean"]["saliency_map"]
    assert curve[0] == pytest.approx(1 - yes, abs=1e-5)
    red = judge(subject, Path("a.png"), np.ascontiguousarray(photo[..., ::-1]), None, 0)
    assert (red.says_no, red.result.label) == (False, "red")
    assert red.result.probability == pytest.approx(judged.result.probability, abs=1e-3)


def test_the_figures_of_a_map_do_not_depend_on_the_others_in_the_file(tmp_path: Path) -> None:
    figures = []
    for outputs in (("saliency_map",), ("saliency_map", "cam", "fastcam")):
        subject = Subject(save_graft(tmp_path / "m.onnx", outputs=outputs), threads=1)
        figures.append(judge(subject, Path("a.png"), _photo(), None, 0).result.methods)
    for name in figures[0]:
        assert figures[0][name] == pytest.approx(figures[1][name], abs=1e-7), name
