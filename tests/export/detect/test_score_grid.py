"""The class map of a detector against a float64 oracle: scores per cell, upsampled, maximum, min–max."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
from fastcam_export import GraftError, graft
from fastcam_runtime import native
from support.oracle.method import bilinear
from support.tiny_detector import CLASSES, SIZE, TinyDetector, export_tiny

pytestmark = pytest.mark.slow

ANCHORS = {"anchors": [[8 * s, 8 * s, 12 * s, 6 * s, 4 * s, 10 * s] for s in (1, 2, 4)]}
LAYOUTS = {
    "yolox": None,
    "yolov8": None,
    "yolov5": None,
    "yolov5_planes": ANCHORS,
    "yolov5_raw": ANCHORS,
    "ssd": None,
    "per_stride": None,
    "end_to_end": None,
}
"""By layout, what the user must say of its head."""


def picture(seed: int = 0, count: int = 1, size: tuple[int, int] = (SIZE, SIZE)) -> np.ndarray:
    """Squares of red, green and blue on black."""
    random = np.random.default_rng(seed)
    pictures = np.zeros((count, 3, *size), np.float32)
    for image in pictures:
        for channel in range(3):
            y, x = random.integers(0, size[0] - 32), random.integers(0, size[1] - 32)
            image[channel, y : y + 32, x : x + 32] = random.uniform(0.6, 1)
    return pictures


def oracle(layout: str, image: np.ndarray, wanted: int) -> np.ndarray:
    """The class map of one picture, from the logits of the torch module, in float64."""
    module = TinyDetector(layout).double()
    with torch.no_grad():
        raw = module.head(module.features(torch.from_numpy(image[None]).double()))
    grids = []
    for classes, objects, _ in raw:
        n, _, h, w = classes.shape
        classes = classes.view(n, module.anchors, CLASSES, h, w)
        objects = objects.view(n, module.anchors, 1, h, w)
        if layout == "ssd":
            scores = torch.cat([-objects, classes], 2).softmax(2)[:, :, 1:]
        elif layout.startswith(("yolox", "yolov5")):
            scores = classes.sigmoid() * objects.sigmoid()
        else:
            scores = classes.sigmoid()
        grids.append(scores.amax(1)[0].numpy())
    if wanted < 0:
        wanted = int(np.argmax([max(grid[c].max() for grid in grids) for c in range(CLASSES)]))
    large = np.max([bilinear(grid[wanted][None], *image.shape[1:])[0] for grid in grids], axis=0)
    return (large - large.min()) / (large.max() - large.min())


def run(model: onnx.ModelProto, compiled: bool = False, **feeds: np.ndarray) -> dict[str, np.ndarray]:
    options = ort.SessionOptions()
    if compiled and not native.register(options):
        pytest.skip(native.status())
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds), strict=True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("score_grid")


@pytest.mark.parametrize("compiled", [False, True], ids=["standard", "compiled"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_agrees_with_the_oracle(layout: str, compiled: bool, folder: Path) -> None:
    export_tiny(layout, str(folder / "net.onnx"))
    plain = run(export_tiny(layout, str(folder / "net.onnx")), images=(image := picture()))
    outputs, labels, head = "saliency_map,cam,fastcam,nonclass", ["r", "g", "b"], LAYOUTS[layout]
    grafted = graft(folder / "net.onnx", outputs=outputs, labels=labels, head=head)
    classes = np.array([2, 0, -1, 1, 99], np.int64)
    found = run(grafted, compiled, images=image, saliency_class=classes)
    for name, values in plain.items():
        np.testing.assert_array_equal(found[name], values)
    for k, wanted in enumerate((2, 0, -1, 1, 2)):
        np.testing.assert_allclose(found["saliency_cam"][k], oracle(layout, image[0], wanted), atol=2e-5)
    fast = found["saliency_map"] * found["saliency_cam"]
    np.testing.assert_allclose(found["saliency_fastcam"], fast, atol=1e-6)
    np.testing.assert_allclose(found["saliency_nonclass"], found["saliency_map"] - fast, atol=1e-6)
    alone = run(grafted, compiled, images=image)
    np.testing.assert_allclose(alone["saliency_cam"][0], found["saliency_cam"][2], atol=1e-6)


@pytest.mark.parametrize("compiled", [False, True], ids=["standard", "compiled"])
@pytest.mark.parametrize("batch", [2, None])
def test_each_picture_of_a_batch_has_its_class(batch: int | None, compiled: bool, folder: Path) -> None:
    export_tiny("yolov8", str(folder / "net.onnx"), batch=batch)
    grafted = graft(folder / "net.onnx", outputs="cam", labels=["r", "g", "b"])
    images = picture(3, count=2)
    classes = np.array([1, -1], np.int64)
    found = run(grafted, compiled, images=images, saliency_class=classes)["saliency_cam"]
    np.testing.assert_allclose(found[0], oracle("yolov8", images[0], 1), atol=2e-5)
    np.testing.assert_allclose(found[1], oracle("yolov8", images[1], -1), atol=2e-5)


def test_a_free_size_has_its_grids_at_run_time(folder: Path) -> None:
    export_tiny("yolox", str(folder / "net.onnx"), free_size=True)
    grafted = graft(
        folder / "net.onnx", outputs="cam", labels=["r", "g", "b"], input_shape=(1, 3, SIZE, SIZE)
    )
    image = picture(5, size=(128, 160))
    found = run(grafted, images=image, saliency_class=np.array([0, 2], np.int64))["saliency_cam"]
    for k, wanted in enumerate((0, 2)):
        np.testing.assert_allclose(found[k], oracle("yolox", image[0], wanted), atol=2e-5)


def test_the_map_moves_with_the_object(folder: Path) -> None:
    export_tiny("yolov8", str(folder / "net.onnx"))
    grafted = graft(folder / "net.onnx", outputs="cam", labels=["r", "g", "b"])
    for x, y in ((0, 0), (64, 0), (32, 64)):
        image = np.zeros((1, 3, SIZE, SIZE), np.float32)
        image[:, 1, y : y + 32, x : x + 32] = 1
        found = run(grafted, images=image)["saliency_cam"][0]
        row, column = np.unravel_index(found.argmax(), found.shape)
        assert y <= row < y + 32
        assert x <= column < x + 32


def test_chosen_boxes_without_a_grid_have_no_class_map(folder: Path) -> None:
    from onnx import TensorProto, helper, numpy_helper

    corner = np.random.default_rng(0).uniform(10, 60, (20, 2))
    rows = np.concatenate([corner, corner + 20, np.full((20, 1), 0.5), np.ones((20, 1))], 1).astype(
        np.float32
    )
    model = export_tiny("yolov8", str(folder / "net.onnx"))
    del model.graph.output[:]
    model.graph.initializer.append(numpy_helper.from_array(rows[None], "chosen"))
    first = next(node.output[0] for node in model.graph.node if node.op_type == "Relu")
    model.graph.node.extend(
        [
            helper.make_node("GlobalAveragePool", [first], ["mean"]),
            helper.make_node("ReduceMean", ["mean"], ["level"], axes=[1, 2, 3], keepdims=0),
            helper.make_node("Sub", ["level", "level"], ["nothing"]),
            helper.make_node("Add", ["chosen", "nothing"], ["boxes"]),
        ]
    )
    model.graph.output.append(helper.make_tensor_value_info("boxes", TensorProto.FLOAT, [1, 20, 6]))
    assert [o.name for o in graft(model).graph.output] == ["boxes", "saliency_map"]
    with pytest.raises(GraftError, match="holds chosen boxes, and the graph has no grid of scores"):
        graft(model, outputs="cam")
