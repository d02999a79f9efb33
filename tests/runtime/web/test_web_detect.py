"""Boxes in JavaScript against the Python runtime's, from the same tensors and from the same pictures."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from fastcam_runtime import Explainer
from fastcam_runtime.detect.detections import Detection, Threshold, detect
from fastcam_runtime.detect.head import DECODINGS, Grid, Head
from fastcam_runtime.image import Geometry
from support.node import LOAD_MODEL, ort_web, run_node
from support.shared_data import shared

SIZE = (64, 96)
FRAME = (210, 290)
GRIDS = (Grid(8, 12, 8, 2), Grid(4, 6, 16, 2))
BINS = 8
LABELS = ["red", "green"]

DETECT = """
const { lay } = await web("image/geometry.js");
const { detect } = await web("fastcam.js");
const outputs = {};
for (const [name, { file, dims }] of Object.entries(given.outputs)) {
  outputs[name] = { data: new Float32Array(bytes(file).buffer), dims };
}
try {
  const geometry = lay(given.frame, given.input, "letterbox");
  return detect(given.head, outputs, geometry, given.labels, given.threshold);
} catch (error) {
  return error.message;
}
"""

EXPLAIN = (
    LOAD_MODEL
    + """\
const { index, label, score, detections, top, timings } = await model.explain(picture);
await model.release();
return { index, label, score, detections, top, stages: Object.keys(timings) };
"""
)


def check_same(found: Sequence[dict[str, Any]], wanted: Sequence[Detection], tolerance: float) -> None:
    """The same objects in the same order; scores within the tolerance, corners within 100 times it in pixels.

    Corners, not overlaps: thin boxes at the edge overlap badly after any rounding.
    """
    assert [(one["index"], one["row"], one["label"]) for one in found] == [
        (one.index, one.row, one.label) for one in wanted
    ]
    np.testing.assert_allclose(
        [one["score"] for one in found], [one.score for one in wanted], atol=tolerance, rtol=0
    )
    boxes = [one["box"] for one in found], [one.box for one in wanted]
    np.testing.assert_allclose(*boxes, atol=100 * tolerance, rtol=0)


def in_javascript(
    head: Head, outputs: dict[str, np.ndarray], folder: Path, frame: tuple[int, int] = FRAME
) -> Any:
    given = {}
    for name, array in outputs.items():
        (folder / name).write_bytes(array.astype(np.float32).tobytes())
        given[name] = {"file": str(folder / name), "dims": array.shape}
    return run_node(
        DETECT,
        head=dataclasses.asdict(head),
        outputs=given,
        frame=frame,
        input=SIZE,
        labels=LABELS,
        threshold={"score": 0.3, "iou": 0.5},
    )


def in_python(head: Head, outputs: dict[str, np.ndarray]) -> tuple[Detection, ...]:
    geometry = Geometry.lay(FRAME, SIZE, "letterbox")
    return detect(head, outputs, geometry, LABELS, Threshold(0.3, 0.5))


def random_boxes(decode: str, rows: int, seed: int = 0) -> np.ndarray:
    """Values of boxes that lie in the picture."""
    random = np.random.default_rng(seed)
    if decode in ("xyxy", "yxyx", "cxcywh"):
        centre, half = random.uniform(8, 56, (rows, 2)), random.uniform(3, 20, (rows, 2))
        pair = (centre, 2 * half) if decode == "cxcywh" else (centre - half, centre + half)
        return np.concatenate(pair, axis=1)
    if decode == "distances":
        return random.uniform(0.5, 3, (rows, 4))
    return random.normal(0, 1, (rows, 4 * BINS if decode == "distribution" else 4))


@pytest.mark.slow
@pytest.mark.parametrize("decode", DECODINGS)
def test_every_decoding_equals_python(decode: str, tmp_path: Path) -> None:
    rows = sum(grid.rows for grid in GRIDS)
    boxes = random_boxes(decode, rows)
    width = boxes.shape[1]
    head = Head(
        "rows", 3, ("out",), ("out",), ("out",), GRIDS, objectness_at=width, score_at=width + 1,
        decode=decode, bins=BINS, order="anchors", powers=(0.6, 0.4),
        anchors=((10.0, 13.0, 16.0, 30.0), (33.0, 23.0, 30.0, 61.0)),
    )  # fmt: skip
    scores = np.random.default_rng(1).uniform(0, 1, (rows, 4))
    outputs = {"out": np.concatenate([boxes, scores], axis=1).astype(np.float32)}
    wanted = in_python(head, outputs)
    assert len(wanted) > 5
    check_same(in_javascript(head, outputs, tmp_path), wanted, 1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("activation", ["sigmoid", "softmax"])
@pytest.mark.parametrize("layout", ["columns", "grid"])
def test_every_layout_and_activation_equals_python(layout: str, activation: str, tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    names = ("scores8", "scores16"), ("boxes8", "boxes16")
    outputs = {}
    for grid, scores, boxes in zip(GRIDS, *names, strict=True):
        # Of two anchors the planes of the first come first.
        shape = (-1, grid.height, grid.width) if layout == "grid" else (-1, grid.rows)
        outputs[scores] = random.normal(-1, 2, grid.rows * 3).astype(np.float32).reshape(shape)
        outputs[boxes] = random.uniform(0.5, 3, grid.rows * 4).astype(np.float32).reshape(shape)
    head = Head(
        layout, 2, names[1], names[0], (), GRIDS, score_at=1, decode="distances", order="anchors",
        activation=activation,
    )  # fmt: skip
    wanted = in_python(head, outputs)
    assert len({one.index for one in wanted}) == 2
    check_same(in_javascript(head, outputs, tmp_path), wanted, 1e-5)


def test_network_with_its_own_nms(tmp_path: Path) -> None:
    rows = np.array(
        [[0.1, 0.2, 0.5, 0.6, 0.9, 1], [0.1, 0.2, 0.5, 0.61, 0.8, 1], [0, 0, 1, 1, 0.1, 0]], np.float32
    )
    head = Head("end_to_end", 2, ("out",), ("out",), score_at=4, decode="xyxy", unit="fraction")
    wanted = in_python(head, {"out": rows})
    assert len(wanted) == 2
    check_same(in_javascript(head, {"out": rows}, tmp_path), wanted, 1e-5)


def test_boxes_scores_and_classes_in_their_own_outputs(tmp_path: Path) -> None:
    boxes = np.array([[10, 20, 50, 60], [10, 20, 50, 61], [0, 0, 90, 90]], np.float32)
    outputs = {"boxes": boxes, "scores": np.float32([[0.9, 0.8, 0.1]]), "labels": np.float32([1, 0, 1])}
    head = Head(
        "end_to_end", 2, ("boxes",), ("scores",), indices=("labels",), score_at=0, index_at=0, decode="xyxy"
    )
    wanted = in_python(head, outputs)
    assert [one.index for one in wanted] == [1, 0]
    check_same(in_javascript(head, outputs, tmp_path), wanted, 1e-5)


def test_objects_that_belong_to_no_cells(tmp_path: Path) -> None:
    rows = np.array([[0.3, 0.4, 0.2, 0.2, 0.1, 0.7], [0.31, 0.4, 0.2, 0.2, 0.1, 0.6]], np.float32)
    head = Head("rows", 2, ("out",), ("out",), score_at=4, decode="cxcywh", unit="fraction")
    wanted = in_python(head, {"out": rows})
    assert len(wanted) == 2  # the network has chosen them: boxes that overlap stay
    check_same(in_javascript(head, {"out": rows}, tmp_path), wanted, 1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.full((240, 7), 3.0), "are 3.00…3.00, not 0…1: export the file again with --head"),
        (np.full((241, 7), 0.5), "is 241×7, not 240 rows as its file says"),
        (np.array([[900.0, 900, 5, 5, 1, 1, 0]] * 240), "are outside the picture when decoded as “cxcywh”"),
    ],
)
def test_outputs_that_do_not_fit_are_refused(values: np.ndarray, message: str, tmp_path: Path) -> None:
    head = Head("rows", 2, ("out",), ("out",), ("out",), GRIDS)
    assert message in in_javascript(head, {"out": values}, tmp_path)


def explain_both(model: Path, frame: np.ndarray, folder: Path) -> tuple[dict[str, Any], Any]:
    (folder / "frame").write_bytes(cv2.cvtColor(frame, cv2.COLOR_BGR2RGBA).tobytes())
    found = run_node(
        EXPLAIN,
        ort=str(ort_web()),
        model=str(model),
        frame=str(folder / "frame"),
        width=frame.shape[1],
        height=frame.shape[0],
    )
    return found, Explainer(model, compiled=False)(frame)


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["yolox", "yolov8", "yolov5", "ssd", "per_stride", "end_to_end"])
def test_generated_detector_from_picture_to_boxes(layout: str, tmp_path: Path) -> None:
    pytest.importorskip("onnx_ir")
    pytest.importorskip("torch")
    import onnx
    from fastcam_export import graft
    from support.tiny_detector import export_tiny

    plain = export_tiny(layout, str(tmp_path / "plain.onnx"))
    onnx.save(graft(plain, preprocess="unit", labels=("red", "green", "blue")), tmp_path / "model.onnx")
    frame = np.zeros((120, 160, 3), np.uint8)
    frame[20:70, 15:65] = (0, 0, 255)
    frame[60:110, 95:150] = (255, 0, 0)
    found, wanted = explain_both(tmp_path / "model.onnx", frame, tmp_path)
    assert {one.label for one in wanted.detections} == {"red", "blue"}
    assert (found["index"], found["label"]) == (wanted.index, wanted.label)
    assert found["score"] == pytest.approx(wanted.score, abs=1e-4)
    assert found["top"] == []
    assert "detect" in found["stages"]
    check_same(found["detections"], wanted.detections, 1e-4)


def overlap(one: np.ndarray, other: np.ndarray) -> float:
    """The intersection over union of two boxes."""
    sides = np.minimum(one[2:], other[2:]) - np.maximum(one[:2], other[:2])
    common = np.prod(np.maximum(sides, 0))
    return float(common / (np.prod(one[2:] - one[:2]) + np.prod(other[2:] - other[:2]) - common))


@pytest.mark.slow
def test_real_detector_from_picture_to_boxes(tmp_path: Path) -> None:
    pytest.importorskip("onnx_ir")
    import onnx
    from fastcam_export import graft

    onnx.save(graft(shared("models/detectors/yolox_nano.onnx")), tmp_path / "model.onnx")
    frame = cv2.imread(str(shared("photos/extra_cat_dog.png")))
    found, wanted = explain_both(tmp_path / "model.onnx", frame, tmp_path)
    assert {one.label for one in wanted.detections} == {"cat", "dog"}
    check_same(found["detections"], wanted.detections, 1e-3)
    for one, other in zip(found["detections"], wanted.detections, strict=True):
        assert overlap(np.array(one["box"]), np.array(other.box)) > 0.999
