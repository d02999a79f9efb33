"""Grad-CAM of one detection against torch's autograd in float64."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from fastcam_export import GraftError, graft
from support.oracle.method import bilinear
from support.tiny_detector import CLASSES, SIZE, STRIDES, TinyDetector, export_tiny

from .test_score_grid import picture, run

pytestmark = pytest.mark.slow

LAYOUTS = (
    ("yolox", True),
    ("yolov8", True),
    ("yolov5_joined", False),
    ("yolov5", True),
    ("ssd", True),
    ("per_stride", True),
)


class Oracle:
    """The logits of a detector and their gradients, in float64."""

    def __init__(self, layout: str, deep: bool, image: np.ndarray) -> None:
        self.module = TinyDetector(layout, deep=deep).eval().double()
        self.image = image
        features = self.module.features(torch.from_numpy(image[None]).double())
        self.mixed = [m.detach().requires_grad_() for m in self.module.mixed(features)]
        raw = self.module.branches(self.mixed)
        self.logits = [self.module.rows(classes)[0] for classes, _, _ in raw]
        objects = torch.cat([self.module.rows(there)[0] for _, there, _ in raw])
        rows = torch.cat(self.logits)
        if layout == "ssd":
            scores = torch.cat([-objects, rows], 1).softmax(1)[:, 1:]
        else:
            scores = rows.sigmoid() * (
                objects.sigmoid() if layout.startswith("yolo") and layout != "yolov8" else 1
            )
        self.scores = scores.detach().numpy()

    def cam(self, row: int, index: int, method: str) -> np.ndarray:
        """The class map of one logit, at the picture's size."""
        stride = 0
        while row >= len(self.logits[stride]):
            row -= len(self.logits[stride])
            stride += 1
        a = self.mixed[stride]
        (g,) = torch.autograd.grad(self.logits[stride][row, index], a, retain_graph=True)
        if method == "gradcam":
            weights = g.mean((2, 3), keepdim=True)
        else:
            alpha = g**2 / (2 * g**2 + a.sum((2, 3), keepdim=True) * g**3)
            weights = (alpha.nan_to_num(0) * g.relu()).sum((2, 3), keepdim=True)
        small = (weights * a).sum(1).relu().detach().numpy()
        large = bilinear(small, *self.image.shape[1:])[0]
        span = large.max() - large.min()
        return (large - large.min()) / span if span else 0 * large


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("box_gradient")


@pytest.mark.parametrize(("layout", "deep"), LAYOUTS)
def test_the_map_of_a_box_is_that_of_autograd(layout: str, deep: bool, folder: Path) -> None:
    plain = run(export_tiny(layout, str(folder / "net.onnx"), deep=deep), images=(image := picture()))
    for method in ("gradcam", "gradcam++"):
        grafted = graft(folder / "net.onnx", outputs="cam,fastcam", cam=method, labels=["r", "g", "b"])
        oracle = Oracle(layout, deep, image[0])
        best = int(oracle.scores.max(1).argmax())
        cells = [(SIZE // stride) ** 2 * oracle.module.anchors for stride in STRIDES]
        rows = (best, 0, cells[0] - 1, cells[0] + 7, sum(cells) - 1)
        found = run(grafted, images=image)
        for name, values in plain.items():
            np.testing.assert_array_equal(found[name], values)
        own = int(oracle.scores[best].argmax())
        np.testing.assert_allclose(found["saliency_cam"][0], oracle.cam(best, own, method), atol=1e-4)
        for row in rows:
            for index in (-1, 0, 2):
                feed = {"saliency_box": np.array([row]), "saliency_class": np.array([index])}
                found = run(grafted, images=image, **feed)["saliency_cam"][0]
                expected = oracle.cam(row, int(oracle.scores[row].argmax()) if index < 0 else index, method)
                np.testing.assert_allclose(found, expected, atol=1e-4, err_msg=f"{method} {row} {index}")


def test_a_class_without_a_box_is_that_of_its_best_row(folder: Path) -> None:
    export_tiny("yolox", str(folder / "net.onnx"), deep=True)
    grafted = graft(folder / "net.onnx", outputs="cam", cam="gradcam", labels=["r", "g", "b"])
    image = picture(2)
    oracle = Oracle("yolox", True, image[0])
    for index in range(CLASSES):
        found = run(grafted, images=image, saliency_class=np.array([index]))["saliency_cam"][0]
        row = int(oracle.scores[:, index].argmax())
        np.testing.assert_allclose(found, oracle.cam(row, index, "gradcam"), atol=1e-4)


@pytest.mark.parametrize("batch", [2, None])
def test_each_picture_of_a_batch_has_its_box(batch: int | None, folder: Path) -> None:
    export_tiny("yolov8", str(folder / "net.onnx"), batch=batch, deep=True)
    grafted = graft(folder / "net.onnx", outputs="cam", cam="gradcam", labels=["r", "g", "b"])
    images = picture(3, count=2)
    rows = np.array([17, 150])
    found = run(grafted, images=images, saliency_box=rows, saliency_class=np.array([1, 1]))["saliency_cam"]
    for k, row in enumerate(rows):
        np.testing.assert_allclose(
            found[k], Oracle("yolov8", True, images[k]).cam(row, 1, "gradcam"), atol=1e-4
        )


def test_a_free_size_has_its_boxes_too(folder: Path) -> None:
    export_tiny("yolox", str(folder / "net.onnx"), free_size=True, deep=True)
    grafted = graft(
        folder / "net.onnx",
        outputs="cam",
        cam="gradcam",
        labels=["r", "g", "b"],
        input_shape=(1, 3, SIZE, SIZE),
    )
    image = picture(5, size=(128, 160))
    oracle = Oracle("yolox", True, image[0])
    for row in (40, 16 * 20 + 3):
        found = run(grafted, images=image, saliency_box=np.array([row]), saliency_class=np.array([0]))
        np.testing.assert_allclose(found["saliency_cam"][0], oracle.cam(row, 0, "gradcam"), atol=1e-4)


def test_chosen_boxes_have_no_gradient(folder: Path) -> None:
    export_tiny("end_to_end", str(folder / "net.onnx"))
    with pytest.raises(GraftError, match=r"no gradient: the boxes of .* are selected in the"):
        graft(folder / "net.onnx", outputs="cam", cam="gradcam", labels=["r", "g", "b"])
