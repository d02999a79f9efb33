"""Heads of every family are recognised from one run, and messages say what does not fit."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from fastcam_export import GraftError, export, graft
from fastcam_export.analysis.plan import plan
from fastcam_export.detect.families import find_family
from fastcam_export.detect.find import Detector
from fastcam_export.detect.outputs import NoHeadError
from fastcam_export.detect.recognise import recognise
from fastcam_export.load import load
from fastcam_export.metadata import ultralytics
from fastcam_export.metadata.clue import ModelFile
from fastcam_export.options import Options
from fastcam_runtime.contract import METADATA_KEY, Metadata
from fastcam_runtime.detect.decode import find_candidates
from support.tiny_detector import CLASSES, SIZE, TinyDetector, export_tiny

EXPECTED = {
    "yolox": ("rows", "offsets", "pixels", 1, True),
    "yolov8": ("columns", "cxcywh", "pixels", 1, False),
    "yolov5": ("rows", "cxcywh", "pixels", 3, True),
    "ssd": ("rows", "xyxy", "fraction", 1, False),
    "per_stride": ("rows", "distances", "pixels", 1, False),
    "end_to_end": ("end_to_end", "xyxy", "pixels", 0, False),
}


def outputs_of(layout: str) -> dict[str, np.ndarray]:
    torch.manual_seed(1)
    with torch.no_grad():
        found = TinyDetector(layout)(torch.rand(1, 3, SIZE, SIZE))
    found = found if isinstance(found, tuple) else (found,)
    return {f"out{k}": value[0].numpy() for k, value in enumerate(found)}


@pytest.mark.parametrize("layout", EXPECTED)
def test_each_layout_is_recognised(layout: str) -> None:
    head = recognise(outputs_of(layout), (SIZE, SIZE), labels=CLASSES)
    kind, decode, unit, anchors, objectness = EXPECTED[layout]
    assert (head.layout, head.decode, head.unit) == (kind, decode, unit)
    assert {grid.per_cell for grid in head.grids} == ({anchors} if anchors else set())
    assert bool(head.objectness) == objectness
    assert head.classes == CLASSES


def test_anchors_that_stand_together_are_told_from_those_of_one_kind() -> None:
    together = outputs_of("yolov5")
    apart = recognise(together, (SIZE, SIZE), labels=CLASSES)
    assert apart.order == "anchors"
    rows, start = [], 0
    for side in (12, 6, 3):
        part = together["out0"][start : start + 3 * side * side]
        rows.append(part.reshape(3, side * side, -1).transpose(1, 0, 2).reshape(part.shape))
        start += 3 * side * side
    head = recognise({"out0": np.concatenate(rows)}, (SIZE, SIZE), labels=CLASSES)
    assert head.order == "cells"


def test_masks_behind_the_classes_are_no_classes() -> None:
    """Ultralytics' segmentation has 32 mask coefficients of any sign behind its classes."""
    arrays = outputs_of("yolov8")
    masks = np.random.default_rng(0).standard_normal((32, arrays["out0"].shape[1])).astype(np.float32)
    head = recognise({"out0": np.concatenate([arrays["out0"], masks])}, (SIZE, SIZE), labels=CLASSES)
    assert (head.classes, head.score_at, head.activation) == (CLASSES, 4, "none")
    assert f"{CLASSES} classes, 32 more" in head.why


def test_scores_without_their_sigmoid_are_logits() -> None:
    arrays = outputs_of("yolov8")
    values = arrays["out0"]
    values[4:] = np.log(values[4:] / (1 - values[4:]))
    head = recognise(arrays, (SIZE, SIZE), labels=CLASSES)
    assert head.activation == "sigmoid"


def test_the_file_names_decide_between_objectness_and_a_class() -> None:
    arrays = {"out0": outputs_of("yolox")["out0"]}
    assert recognise(arrays, (SIZE, SIZE), labels=4).objectness == ()
    assert recognise(arrays, (SIZE, SIZE), labels=3).objectness == ("out0",)


def test_rows_that_do_not_add_up_are_named() -> None:
    arrays = {"out0": outputs_of("yolox")["out0"][:-1]}
    with pytest.raises(NoHeadError, match=r"the 188 rows of 'out0' are not the cells of strides"):
        recognise(arrays, (SIZE, SIZE))


def test_raw_grids_ask_for_their_anchors() -> None:
    arrays = {f"head{s}": np.zeros((3 * 85, 96 // s, 96 // s), np.float32) for s in (8, 16, 32)}
    with pytest.raises(NoHeadError, match=r"3 anchors with 80 classes.*--head"):
        recognise(arrays, (SIZE, SIZE))


SIDES = ((10.0, 13.0, 16.0, 30.0, 33.0, 23.0), (30.0, 61.0, 62.0, 45.0, 59.0, 119.0), (90.0,) * 6)


@pytest.mark.parametrize("planes", [True, False], ids=["k·V×h×w", "k×h×w×V"])
def test_raw_heads_are_decoded_with_the_anchors_that_the_user_names(planes: bool) -> None:
    """YOLOv5's formula written out for one box: anchor 2 of column 5, line 3 of stride 16."""
    random = np.random.default_rng(0)
    raw = [random.standard_normal((3, 8, 96 // s, 96 // s)).astype(np.float32) for s in (8, 16, 32)]
    outputs = {
        f"head{k}": part.reshape(24, *part.shape[2:]) if planes else np.moveaxis(part, 1, 3)
        for k, part in enumerate(raw)
    }
    with pytest.raises(NoHeadError, match=r"head0, head1, head2 are raw grids of 3 anchors with 3 classes"):
        recognise(outputs, (SIZE, SIZE))
    found = find_family(recognise(outputs, (SIZE, SIZE), anchors=SIDES), {})
    assert (found.head.family, found.head.classes) == ("yolov5", 3)
    boxes = find_candidates(found.head, outputs, (SIZE, SIZE), 0.0)
    row = 3 * 12 * 12 + 2 * 6 * 6 + 3 * 6 + 5
    values = 1 / (1 + np.exp(-raw[1][2, :, 3, 5].astype(np.float64)))
    x, y = (2 * values[0] - 0.5 + 5) * 16, (2 * values[1] - 0.5 + 3) * 16
    w, h = (2 * values[2]) ** 2 * 59, (2 * values[3]) ** 2 * 119
    wanted = [x - w / 2, y - h / 2, x + w / 2, y + h / 2]
    np.testing.assert_allclose(boxes.boxes[row], wanted, rtol=1e-4)
    assert boxes.scores[row] == pytest.approx(values[4] * values[5:].max(), abs=1e-5)
    assert boxes.classes[row] == values[5:].argmax()


def test_rows_before_their_decoding_take_anchors_too() -> None:
    """YOLOv5's grids after its reshape and Concat: all cells of an anchor, then those of the next."""
    random = np.random.default_rng(0)
    raw = [random.standard_normal((3, 96 // s, 96 // s, 8)).astype(np.float32) for s in (8, 16, 32)]
    apart = {f"head{k}": part for k, part in enumerate(raw)}
    joined = {"rows": np.concatenate([part.reshape(-1, 8) for part in raw])}
    found = [
        find_candidates(recognise(outputs, (SIZE, SIZE), anchors=SIDES), outputs, (SIZE, SIZE), 0.0)
        for outputs in (apart, joined)
    ]
    np.testing.assert_array_equal(found[0].boxes, found[1].boxes)
    np.testing.assert_array_equal(found[0].scores, found[1].scores)


def test_raw_grids_beside_the_decoded_rows_are_left_alone() -> None:
    """YOLOv5 before release 6 exported both."""
    arrays = outputs_of("yolov5") | {
        f"raw{s}": np.zeros((3, 96 // s, 96 // s, 8), np.float32) for s in (8, 16, 32)
    }
    assert recognise(arrays, (SIZE, SIZE), labels=CLASSES).outputs == ("out0",)


def test_raw_grids_after_their_sigmoid_are_refused() -> None:
    arrays = {f"head{s}": np.full((24, 96 // s, 96 // s), 0.5, np.float32) for s in (8, 16, 32)}
    with pytest.raises(NoHeadError, match="are 0…1: only boxes before their Sigmoid"):
        recognise(arrays, (SIZE, SIZE), anchors=SIDES)


@pytest.mark.parametrize("anchors", [(10.0, 13.0), ((10.0, 13.0), (1.0, 2.0, 3.0, 4.0)), ((1.0,),) * 3])
def test_anchors_that_are_no_pairs_are_refused(anchors: tuple[tuple[float, ...], ...]) -> None:
    arrays = {f"head{s}": np.zeros((24, 96 // s, 96 // s), np.float32) for s in (8, 16, 32)}
    with pytest.raises(NoHeadError, match="as many pairs of width and height for every stride"):
        recognise(arrays, (SIZE, SIZE), anchors=anchors)


@pytest.mark.parametrize(
    ("own", "name"),
    [
        ({"description": "Ultralytics rtdetr-l model", "head": "RTDETRDecoder"}, "rtdetr"),
        ({"description": "Ultralytics RT-DETR-X model trained on coco.yaml"}, "rtdetr"),
        ({"description": "Ultralytics YOLO11n model", "head": "Detect"}, "ultralytics"),
    ],
)
def test_ultralytics_stretches_frames_for_rt_detr_only(own: dict[str, str], name: str, yolox: Path) -> None:
    """Its other detectors get bars around the frame: boxes of a stretched frame would be displaced."""
    metadata = {"author": "Ultralytics", "task": "detect", "stride": "32", "names": "{0: 'a'}", **own}
    found = find_family(recognise(outputs_of("end_to_end"), (SIZE, SIZE)), metadata)
    assert found.family is not None
    assert (found.family.name, found.family.resize) == (name, "stretch" if name == "rtdetr" else "letterbox")
    ends = plan(load(yolox), Options()).ends
    clue = ultralytics.read(ModelFile(metadata, None, ends.image, []))
    assert clue is not None
    assert clue.resize == found.family.resize


@pytest.mark.parametrize("logits", [True, False])
def test_retinaface_is_told_by_its_five_points(logits: bool) -> None:
    """Its formula written out: priors in the middle of the cells, variances 0.1 and 0.2."""
    random = np.random.default_rng(0)
    rows = 2 * (12 * 12 + 6 * 6 + 3 * 3)
    scores = random.standard_normal((rows, 2)).astype(np.float32)
    scores[:, 0] += 2  # most rows show no face
    odds = np.exp(scores)
    likely = odds / odds.sum(1, keepdims=True)
    outputs = {
        "loc": random.standard_normal((rows, 4)).astype(np.float32),
        "conf": scores if logits else likely,
        "landms": 9 * random.standard_normal((rows, 10)).astype(np.float32),
    }
    found = find_family(recognise(outputs, (SIZE, SIZE)), {})
    assert (found.head.family, found.head.classes, found.labels) == ("retinaface", 1, ("face",))
    boxes = find_candidates(found.head, outputs, (SIZE, SIZE), 0.0)
    np.testing.assert_allclose(boxes.scores, likely[:, 1], atol=1e-5)
    row = 2 * (12 * 12 + 6 + 4) + 1  # the second prior, 128, of column 4 in line 1 of stride 16
    dx, dy, dw, dh = outputs["loc"][row]
    x, y, w, h = 72 + dx * 12.8, 24 + dy * 12.8, 128 * np.exp(dw / 5), 128 * np.exp(dh / 5)
    wanted = [x - w / 2, y - h / 2, x + w / 2, y + h / 2]
    np.testing.assert_allclose(boxes.boxes[row], wanted, rtol=1e-4)


def test_a_gray_network_is_looked_at_in_gray(tmp_path: Path) -> None:
    """The reason once was that one channel does not fit the colours of the photo."""
    detector = torch.nn.Sequential(torch.nn.Conv2d(1, 3, 1), TinyDetector("yolox")).eval()
    path = tmp_path / "gray.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            detector, (torch.rand(1, 1, SIZE, SIZE),), str(path), dynamo=False, opset_version=17
        )
    found = plan(load(str(path)), Options()).detector
    assert isinstance(found, Detector), found
    assert found.head.family == "yolox"


@pytest.fixture(scope="module")
def yolox(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tiny") / "yolox.onnx"
    export_tiny("yolox", str(path))
    return path


@pytest.mark.slow
def test_an_export_describes_the_head_and_feeds_it_as_its_family(yolox: Path, tmp_path: Path) -> None:
    metadata = export(yolox, tmp_path / "out.onnx", labels=["red", "green", "blue"]).metadata
    assert metadata.detector is not None
    assert (metadata.detector.family, metadata.resize) == ("yolox", "letterbox")
    assert (metadata.preprocess.order, metadata.preprocess.pad, metadata.preprocess.placement) == (
        "BGR",
        114,
        "corner",
    )
    assert Metadata.from_json(metadata.to_json()) == metadata


def test_what_the_user_says_stays(yolox: Path) -> None:
    proto = graft(yolox, head={"powers": [0.5, 0.5]}, preprocess="unit", resize="stretch")
    metadata = Metadata.from_json({p.key: p.value for p in proto.metadata_props}[METADATA_KEY])
    assert metadata.detector is not None
    assert (metadata.detector.powers, metadata.resize, metadata.preprocess.order) == (
        (0.5, 0.5),
        "stretch",
        "RGB",
    )


def test_without_a_head_the_map_still_works_and_class_maps_are_refused(yolox: Path) -> None:
    names = [output.name for output in graft(yolox, head="none").graph.output]
    assert names[1:] == ["saliency_map"]
    with pytest.raises(GraftError, match="no class map"):
        graft(yolox, head="none", outputs="cam")


def test_a_head_that_does_not_fit_fails_with_one_line(yolox: Path) -> None:
    with pytest.raises(GraftError, match=r"--head does not fit: .*outside the picture"):
        graft(yolox, head={"decode": "xyxy", "unit": "fraction", "box_at": 1})
    with pytest.raises(GraftError, match=r"no head named 'yolx'; closest: yolox"):
        graft(yolox, head="yolx")
    with pytest.raises(GraftError, match=r"head has no key 'decoding'; closest: decode"):
        graft(yolox, head={"decoding": "xyxy"})
