"""One box of a detector: which one a click means, and the map of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fastcam_runtime import Explainer
from fastcam_runtime.detect.detections import Detection, Threshold, map_shares
from fastcam_runtime.detect.one_box import cut_to_box, explain_box, find_box
from fastcam_runtime.draw.boxes import class_colour, draw_boxes, show_inside
from fastcam_runtime.draw.views import frame_point
from fastcam_runtime.errors import FastcamError
from fastcam_runtime.image import Geometry
from fastcam_runtime.live.controls import ControlError, Controls
from fastcam_runtime.sinks.base import Status
from fastcam_runtime.sinks.json_lines import describe_frame


def found(*box: float, index: int = 0, score: float = 0.9, row: int = 0) -> Detection:
    left, top, right, bottom = box
    return Detection((left, top, right, bottom), f"class {index}", score, index, row)


LARGE, SMALL = found(0, 0, 80, 60), found(20, 10, 40, 30, index=1, row=7)


def test_a_point_means_the_smallest_box_there() -> None:
    assert find_box((LARGE, SMALL), (25, 15)) is SMALL
    assert find_box((LARGE, SMALL), (50, 50)) is LARGE
    assert find_box((LARGE, SMALL), (90, 50)) is None
    assert find_box((LARGE, SMALL), 1) is SMALL
    assert find_box((LARGE, SMALL), 2) is None


@pytest.mark.parametrize(
    ("view", "point", "expected"),
    [
        ("overlay", (30, 20), (30, 20)),
        ("side", (130, 20), (30, 20)),
        ("overlay", (30, 70), None),
        ("scales", (30, 20), None),
        ("overlay", (-1, 20), None),
    ],
)
def test_a_point_of_the_picture_is_a_point_of_the_frame(
    view: str, point: tuple[int, int], expected: tuple[int, int] | None
) -> None:
    assert frame_point(view, (200 if view == "side" else 100, 72), (100, 60), *point) == expected


@pytest.mark.parametrize("resize", ["stretch", "crop", "letterbox"])
def test_a_map_is_cut_to_the_box(resize: str) -> None:
    geometry = Geometry.lay((60, 120), (64, 64), resize)
    saliency = np.random.default_rng(0).uniform(0.1, 0.5, (64, 64)).astype(np.float32)
    box = found(40, 10, 80, 50)
    cut = cut_to_box(saliency, geometry, box)
    assert cut.max() == 1
    rows, columns = np.nonzero(cut)
    back = geometry.to_frame(np.array([[columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]]))
    pixel = 120 / 64 if resize != "crop" else 1
    np.testing.assert_allclose(back[0], box.box, atol=pixel)
    inside = cut > 0
    np.testing.assert_allclose(cut[inside], saliency[inside] / saliency[inside].max(), rtol=1e-6)
    assert cut_to_box(np.zeros((64, 64), np.float32), geometry, box).max() == 0


@pytest.mark.parametrize("resize", ["stretch", "letterbox"])
def test_the_share_of_a_map_inside_a_box(resize: str) -> None:
    geometry = Geometry.lay((64, 128), (64, 64), resize)
    saliency = np.zeros((64, 64), np.float32)
    y = 32 if resize == "letterbox" else 16
    saliency[y, 10:14] = [1, 2, 3, 4]  # columns 20…28 of the frame
    row = 2 * (y - 16) if resize == "letterbox" else y
    shares = map_shares(
        saliency,
        geometry,
        (found(0, 0, 128, 64), found(20, row - 4, 24, row + 4), found(27, 0, 128, 64), found(60, 0, 70, 64)),
    )
    np.testing.assert_allclose(shares, [1, 0.3, 0.2, 0], atol=1e-6)
    assert map_shares(0 * saliency, geometry, (LARGE,)) == [0.0]


def test_boxes_are_drawn_where_they_are_and_the_chosen_one_is_bolder() -> None:
    picture = np.zeros((240, 320, 3), np.uint8)
    box = found(50, 100, 200, 200, index=1)
    plain, bold = picture.copy(), picture.copy()
    draw_boxes(plain, (box,))
    draw_boxes(bold, (box,), chosen=box)
    for place in ((150, 50), (150, 199), (199, 120)):
        np.testing.assert_allclose(plain[place], class_colour(1), atol=30)  # the edge is smoothed
    assert not plain[105:195, 55:195].any()
    assert not plain[:, 210:].any()
    coloured = [
        np.count_nonzero(np.abs(p - np.array(class_colour(1))).max(axis=2) < 40) for p in (plain, bold)
    ]
    assert coloured[1] > coloured[0]
    shifted = np.zeros((240, 640, 3), np.uint8)
    draw_boxes(shifted, (box,), left=320)
    assert not shifted[:, :320].any()
    np.testing.assert_array_equal(shifted[:, 320:], plain)
    assert class_colour(1) != class_colour(2)


def test_no_label_covers_another_or_lies_under_a_box() -> None:
    crowd = [found(100 + 3 * i, 80, 180, 160, index=i) for i in range(4)]
    alone = []
    for box in crowd:
        picture = np.zeros((240, 320, 3), np.uint8)
        draw_boxes(picture, (box,))
        alone.append((picture == class_colour(box.index)).all(-1).sum())
    picture = np.zeros((240, 320, 3), np.uint8)
    draw_boxes(picture, crowd)
    for box, pixels in zip(crowd, alone, strict=True):
        # A line of the box may be covered, by that of a better one or by a label; the label is not.
        line = 2 * (80 + 80)
        assert (picture == class_colour(box.index)).all(-1).sum() > pixels - line


def test_the_map_is_shown_inside_the_boxes_only() -> None:
    frame, heat = np.zeros((60, 80, 3), np.uint8), np.full((60, 80, 3), 200, np.uint8)
    shown = show_inside(heat, frame, (SMALL,))
    assert (shown[10:30, 20:40] == 200).all()
    assert shown.sum() == 200 * 3 * 20 * 20


def test_controls_take_a_box_only_of_a_detector() -> None:
    controls = Controls(("overlay",), has_boxes=True)
    controls.set_box((3.0, 4.0))
    assert controls.choice.box == (3.0, 4.0)
    controls.set_box(None)
    assert controls.choice.box is None
    with pytest.raises(ControlError, match="no box can be chosen"):
        Controls(("overlay",)).set_box(0)


@pytest.mark.slow
@pytest.mark.parametrize("cam", [None, "gradcam"])
def test_each_box_has_its_own_map(cam: str | None, tmp_path: Path) -> None:
    from fastcam_export import export
    from support.tiny_detector import SIZE, export_tiny

    export_tiny("yolov8", str(tmp_path / "net.onnx"))
    export(
        tmp_path / "net.onnx", tmp_path / "maps.onnx", outputs="saliency_map,cam", cam=cam,
        labels=["r", "g", "b"], preprocess="unit",
    )  # fmt: skip
    explainer = Explainer(tmp_path / "maps.onnx", threads=1, threshold=Threshold(score=0.5))
    frame = np.zeros((SIZE, SIZE, 3), np.uint8)
    frame[8:40, 8:40, 2] = 255
    frame[56:88, 56:88, 0] = 255
    every = explainer(frame).detections
    assert {found.label for found in every} >= {"r", "b"}
    for label, (x, y) in (("r", (24, 24)), ("b", (72, 72))):
        explained = explain_box(explainer, frame, (x, y))
        assert explained.label == label
        assert explained.chosen is not None
        assert explained.chosen.contains(x, y)
        assert explained.maps["cam"] is explained.maps["saliency_cam"]
        line = describe_frame(Status(0, label, top=explained.top(), explanation=explained))
        assert line["explained"] == label
        assert [found["label"] for found in line["detections"] if found.get("explained")] == [label]
        peak = np.unravel_index(explained.maps["saliency_cam"].argmax(), (SIZE, SIZE))
        assert abs(peak[0] - y) <= 16
        assert abs(peak[1] - x) <= 16
        alone = explainer.explain(frame)[0]
        np.testing.assert_array_equal(explained.maps["saliency_map"], alone.maps["saliency_map"])
        if cam is not None:
            tensor = replace(explainer.preprocess(frame), row=explained.chosen.row)
            direct = explainer.explain(tensor, explained.chosen.index)[0]
            np.testing.assert_array_equal(explained.maps["saliency_cam"], direct.maps["saliency_cam"])
    assert explain_box(explainer, frame, (90, 5)).chosen is None


def test_another_network_has_no_boxes(tmp_path: Path) -> None:
    from support.tiny_grafts import save_graft

    with pytest.raises(FastcamError, match=r"no box can be explained: .* has no known detector's head"):
        explain_box(Explainer(save_graft(tmp_path / "net.onnx")), np.zeros((8, 8, 3), np.uint8), 0)
