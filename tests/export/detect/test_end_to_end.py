"""Networks that choose their boxes themselves: every form of their outputs, and what only looks like one."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from fastcam_export import GraftError, graft
from fastcam_export.detect.outputs import NoHeadError
from fastcam_export.detect.recognise import recognise
from fastcam_runtime import Explainer
from fastcam_runtime.detect.decode import find_candidates
from fastcam_runtime.detect.head import Grid, Head
from support.tiny_detector import CLASSES, SIZE, TinyDetector
from torch import Tensor, nn

PICTURE = (320, 320)
COUNT = 300


def chosen(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Corners in pixels, scores and classes of 300 boxes."""
    random = np.random.default_rng(seed)
    least = random.uniform(0, 200, (COUNT, 2))
    corners = np.concatenate([least, least + random.uniform(5, 100, (COUNT, 2))], 1)
    return corners.astype(np.float32), random.random(COUNT).astype(np.float32), random.integers(0, 7, COUNT)


def forms() -> dict[str, dict[str, np.ndarray]]:
    """The same boxes as every publisher writes them."""
    corners, scores, classes = chosen()
    column = {"s": scores[:, None], "c": classes[:, None].astype(np.float32), "n": np.zeros((COUNT, 1))}
    x, y, far_x, far_y = (corners / PICTURE[0]).T
    centres = np.stack([(x + far_x) / 2, (y + far_y) / 2, far_x - x, far_y - y], 1)

    def rows(*parts: np.ndarray) -> dict[str, np.ndarray]:
        return {"out": np.concatenate(parts, 1).astype(np.float32)}

    return {
        "ultralytics": rows(corners, column["s"], column["c"]),
        "ultralytics rt-detr": rows(centres, column["s"], column["c"]),
        "paddle": rows(column["c"], column["s"], corners),
        "yolov7": rows(column["n"], corners, column["c"], column["s"]),
        "openvino": rows(column["n"], column["c"], column["s"], corners / PICTURE[0]),
        "rt-detr": {"labels": classes[None], "boxes": corners, "scores": scores[None]},
        "torchvision": {"boxes": corners, "labels": classes, "scores": scores},
        "tensorflow": {
            "num_detections": np.float32([COUNT]),
            "detection_boxes": corners[:, [1, 0, 3, 2]] / PICTURE[0],
            "detection_scores": scores[None],
            "detection_classes": classes[None].astype(np.float32),
        },
        "mmdeploy": {"dets": np.concatenate([corners, column["s"]], 1), "labels": classes[None]},
    }


@pytest.mark.parametrize("form", forms())
def test_every_form_gives_the_same_boxes(form: str) -> None:
    outputs = forms()[form]
    head = recognise(outputs, PICTURE, labels=None if form != "mmdeploy" else 7)
    found = find_candidates(head, outputs, PICTURE, 0.0)
    corners, scores, classes = chosen()
    assert (head.layout, head.classes) == ("end_to_end", 7)
    np.testing.assert_allclose(found.boxes, corners, atol=1e-3)
    np.testing.assert_allclose(found.scores, scores, atol=1e-6)
    np.testing.assert_array_equal(found.classes, classes)


@pytest.mark.parametrize("together", [True, False])
def test_objects_of_a_transformer_belong_to_no_cells(together: bool) -> None:
    """RT-DETR: 300 objects, which are also 3 for each of 10×10 cells."""
    random = np.random.default_rng(1)
    boxes = random.uniform(0.2, 0.6, (COUNT, 4)).astype(np.float32)
    scores = random.random((COUNT, 7)).astype(np.float32)
    outputs = (
        {"out": np.concatenate([boxes, scores], 1)} if together else {"b": boxes[:299], "s": scores[:299]}
    )
    head = recognise(outputs, PICTURE, labels=7)
    assert (head.layout, head.grids, head.classes, head.decode) == ("rows", (), 7, "cxcywh")
    found = find_candidates(head, outputs, PICTURE, 0.0)
    np.testing.assert_array_equal(found.classes, scores.argmax(1)[: len(found.rows)])
    np.testing.assert_allclose(found.boxes[0, 2] - found.boxes[0, 0], boxes[0, 2] * 320, rtol=1e-4)


def test_the_class_for_no_object_is_no_class() -> None:
    """DETR: a softmax over the classes, and the last one means that there is nothing."""
    random = np.random.default_rng(2)
    logits = random.standard_normal((99, 8)).astype(np.float32)
    logits[:90, -1] += 9
    head = recognise({"boxes": random.random((99, 4), np.float32), "logits": logits}, PICTURE)
    assert (head.classes, head.activation) == (7, "softmax")


def test_a_text_of_probabilities_is_no_detector() -> None:
    values = np.random.default_rng(3).random((40, 7)).astype(np.float32)
    values /= values.sum(1, keepdims=True)
    with pytest.raises(NoHeadError):
        recognise({"text": values}, (48, 320))


def test_the_angle_of_a_turned_box_is_no_objectness() -> None:
    """Ultralytics' task obb: box, classes and an angle; once read as box, objectness and classes."""
    with torch.no_grad():
        found = TinyDetector("yolov8")(torch.rand(1, 3, SIZE, SIZE))[0].numpy()
    turned = np.concatenate([found, np.full((1, found.shape[1]), 0.3, np.float32)])
    head = recognise({"out": turned}, (SIZE, SIZE), labels=CLASSES)
    assert (head.objectness, head.score_at, head.classes) == ((), 4, CLASSES)
    assert "the angle of a turned box" in head.why


def test_as_many_values_as_cells_of_a_coarse_stride_are_values() -> None:
    """9 values, box and 5 classes, are also the 3×3 cells of stride 128 on 320×320."""
    rows = [np.divmod(np.arange((320 // s) ** 2), 320 // s) for s in (8, 16, 32)]
    y, x = (
        np.concatenate([(r[k] + 0.5) * s for s, r in zip((8, 16, 32), rows, strict=True)]) for k in (0, 1)
    )
    values = np.concatenate([np.stack([x, y, x * 0 + 9, y * 0 + 9]), np.full((5, len(x)), 0.1)])
    head = recognise({"out": values.astype(np.float32)}, PICTURE)
    assert (head.layout, head.classes) == ("columns", 5)


def test_values_that_are_no_offsets_are_not_taken_for_yolox() -> None:
    """Yolo-FastestV2 has three boxes, three objectnesses and its classes in a row, all of them 0…1."""
    rows = np.random.default_rng(4).random((22 * 22 + 11 * 11, 95)).astype(np.float32)
    with pytest.raises(NoHeadError, match=r"the 95 values in each row of 'out' are of no known head.*--head"):
        recognise({"out": rows}, (352, 352))


def test_boxes_with_points_and_scores_apart_are_not_taken_for_anchors_of_yolo() -> None:
    """BlazeFace: boxes and points of 896 anchors, their scores in another output."""
    random = np.random.default_rng(5)
    outputs = {
        "boxes": random.standard_normal((896, 16)).astype(np.float32),
        "scores": random.standard_normal((896, 1)).astype(np.float32),
    }
    with pytest.raises(NoHeadError, match=r"the 16 values in each row of 'boxes' are of no known head"):
        recognise(outputs, (128, 128), parts=lambda rows: (Grid(16, 16, 8, 2), Grid(8, 8, 16, 6)))


def test_keypoints_behind_raw_grids_are_no_classes() -> None:
    grids = {f"s{s}": np.zeros((64 + 1 + 15, 96 // s, 96 // s), np.float32) for s in (8, 16, 32)}
    head = recognise(grids, (SIZE, SIZE), labels=1)
    assert (head.classes, head.score_at, head.decode) == (1, 64, "distribution")


class Chooser(nn.Module):
    """Boxes in pixels of the picture, whose width and height the second input tells, as D-FINE has it."""

    def __init__(self) -> None:
        super().__init__()
        self.detector = TinyDetector("end_to_end")

    def forward(self, images: Tensor, orig_target_sizes: Tensor) -> tuple[Tensor, ...]:
        rows = self.detector(images)
        sizes = orig_target_sizes.repeat(1, 2).unsqueeze(1).float()
        return rows[..., 5].long(), rows[..., :4] / SIZE * sizes, rows[..., 4]


def save(module: nn.Module, path: Path, inputs: dict[str, Tensor], outputs: list[str]) -> onnx.ModelProto:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module.eval(), tuple(inputs.values()), str(path), dynamo=False, opset_version=17,
            input_names=list(inputs), output_names=outputs,
        )  # fmt: skip
    return onnx.load(path)


def test_a_network_that_asks_for_the_picture_size_runs(tmp_path: Path) -> None:
    sizes = torch.tensor([[SIZE, SIZE]])
    inputs = {"images": torch.rand(1, 3, SIZE, SIZE), "orig_target_sizes": sizes}
    plain = save(Chooser(), tmp_path / "plain.onnx", inputs, ["labels", "boxes", "scores"])
    onnx.save(graft(plain, labels=("red", "green", "blue")), tmp_path / "model.onnx")
    explainer = Explainer(tmp_path / "model.onnx", cache=False)
    head = explainer.metadata.detector
    assert head is not None
    assert head.family == "rtdetr"
    frame = np.zeros((SIZE, SIZE, 3), np.uint8)
    frame[16:48, 16:48] = (0, 0, 255)
    found = explainer(frame)
    assert found.label == "red"
    picture = torch.from_numpy(frame[None, :, :, ::-1].astype(np.float32) / 255).permute(0, 3, 1, 2)
    with torch.no_grad():
        rows = TinyDetector("end_to_end").eval()(picture)[0].numpy()
    best = rows[rows[:, 4].argmax()]
    np.testing.assert_allclose(found.detections[0].box, best[:4], atol=0.05)
    assert found.score == pytest.approx(best[4], abs=1e-4)


class Queries(nn.Module):
    """36 queries with the cells of stride 16 as their number: scores of a Linear layer, in no order."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 8, 3, 8, 1), nn.ReLU())
        self.classes = nn.Linear(8, 5)
        self.boxes = nn.Linear(8, 4)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        features = self.stem(x).flatten(2).permute(0, 2, 1)
        scores = self.classes(features).sigmoid()
        best, labels = scores.max(-1)
        x, y, w, h = self.boxes(features).sigmoid().unbind(-1)
        boxes = torch.stack([x - w / 2, y - h / 2, x + w / 2, y + h / 2], -1) * SIZE
        return labels, boxes, best


def test_queries_are_no_grid_of_scores(tmp_path: Path) -> None:
    """A class map of queries would show a wrong place; their number of classes is known all the same."""
    plain = save(
        Queries(), tmp_path / "q.onnx", {"x": torch.rand(1, 3, SIZE, SIZE)}, ["labels", "boxes", "scores"]
    )
    onnx.save(graft(plain), tmp_path / "model.onnx")
    head = Explainer(tmp_path / "model.onnx", cache=False).metadata.detector
    assert isinstance(head, Head)
    assert head.classes == 5
    with pytest.raises(GraftError, match=r"no class map: 'boxes' holds chosen boxes"):
        graft(plain, outputs="cam")


class Rows(nn.Module):
    """As many rows as there are bright cells, as after NMS: none for a dark picture."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 1, 3, 8, 1))

    def forward(self, x: Tensor) -> Tensor:
        rows = torch.nonzero(self.stem(x).flatten(1) > 1e6).float()[:, :1]
        return torch.cat([rows * 0, rows * 0, rows * 0 + 0.9, rows, rows, rows + 9, rows + 9], 1)


def test_no_boxes_in_a_picture_are_no_error(tmp_path: Path) -> None:
    """Once taken for 7 classes, of which an empty frame has none."""
    name = "batchno_classid_score_x1y1x2y2"
    plain = save(Rows(), tmp_path / "rows.onnx", {"x": torch.rand(1, 3, SIZE, SIZE)}, [name])
    onnx.save(graft(plain), tmp_path / "model.onnx")
    found = Explainer(tmp_path / "model.onnx", cache=False)(np.zeros((SIZE, SIZE, 3), np.uint8))
    assert (found.detections, found.index, found.score) == ((), None, None)
