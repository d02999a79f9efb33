"""Real ImageNet networks on real photos: float32, float16 and int8."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from fastcam_export import export
from fastcam_export.api import Exported
from support.oracle import method
from support.shared_data import shared

IMAGENET_MEAN, IMAGENET_STD = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])


def imagenet(rgb: np.ndarray) -> np.ndarray:
    return ((rgb / 255 - IMAGENET_MEAN) / IMAGENET_STD).astype(np.float32)


def caffe(rgb: np.ndarray) -> np.ndarray:
    return (rgb[..., ::-1] - np.array([103.939, 116.779, 123.68])).astype(np.float16)


@dataclass(frozen=True)
class Real:
    file: str
    size: int
    prepare: Callable[[np.ndarray], np.ndarray]
    correct: int
    """How many of the 50 photos the original gets right, at least."""
    taps: tuple[tuple[int, int], ...]


REAL = {
    "float32": Real("mobilenet_v2.onnx", 224, imagenet, 45,
                    ((96, 112), (144, 56), (192, 28), (576, 14), (1280, 7))),
    "float16": Real("squeezenet1_1-fp16.onnx", 224, caffe, 32, ((64, 111), (128, 55), (256, 27), (1000, 13))),
    "int8": Real("mobilenet_v2-int8-qdq.onnx", 244, imagenet, 43,
                 ((96, 122), (144, 61), (192, 31), (576, 16), (1280, 8))),
}  # fmt: skip


def centre_crop(path: Path, size: int) -> np.ndarray:
    """The photo's centre as RGB: shorter side to size/0.875, as the networks are evaluated."""
    image = cv2.cvtColor(cv2.imread(str(path)), cv2.COLOR_BGR2RGB)
    scale = size / 0.875 / min(image.shape[:2])
    wide = (max(size, round(image.shape[1] * scale)), max(size, round(image.shape[0] * scale)))
    image = cv2.resize(image, wide, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR)
    top, left = (image.shape[0] - size) // 2, (image.shape[1] - size) // 2
    return image[top : top + size, left : left + size]


def photos() -> list[Path]:
    return sorted(shared("photos").glob("[0-9]*.jpg"))


@pytest.fixture(params=REAL, scope="module")
def case(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Real, Path, Exported]:
    real = REAL[request.param]
    target = tmp_path_factory.mktemp("real") / "grafted.onnx"
    exported = export(shared(f"models/{real.file}"), target, outputs=["saliency_map", "scales"])
    return real, target, exported


def session(path: Path) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def test_taps(case: tuple[Real, Path, Exported]) -> None:
    real, _, exported = case
    assert tuple((tap.shape[1], tap.shape[2]) for tap in exported.metadata.taps) == real.taps


@pytest.mark.slow
def test_predictions_are_bit_equal_and_right(case: tuple[Real, Path, Exported]) -> None:
    real, target, _ = case
    before, after = session(shared(f"models/{real.file}")), session(target)
    correct = 0
    for photo in photos():
        x = real.prepare(centre_crop(photo, real.size)).transpose(2, 0, 1)[None]
        feeds = {before.get_inputs()[0].name: np.ascontiguousarray(x)}
        (plain,) = before.run(None, feeds)
        scores, saliency, *_ = after.run(None, feeds)
        assert np.array_equal(plain, scores)
        assert 0 <= saliency.min() < saliency.max() <= 1
        correct += int(np.argmax(scores)) == int(photo.name[:3])
    assert correct >= real.correct


def test_the_combined_map_follows_the_formulas(case: tuple[Real, Path, Exported], tmp_path: Path) -> None:
    """The tapped tensors of the grafted file itself, through the float64 oracle."""
    real, target, exported = case
    model = onnx.load(target)
    names = [tap.name for tap in exported.metadata.taps]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    onnx.save(model, tmp_path / "open.onnx")
    x = real.prepare(centre_crop(photos()[14], real.size)).transpose(2, 0, 1)[None]
    opened = session(tmp_path / "open.onnx")
    feeds = {opened.get_inputs()[0].name: np.ascontiguousarray(x)}
    taps = opened.run(names, feeds)
    maps = [method.gauss(method.smoe(tap)) for tap in taps]
    weights = [tap.weight for tap in exported.metadata.taps]
    expected = method.combine(maps, weights, real.size, real.size)
    (saliency,) = opened.run(["saliency_map"], feeds)
    np.testing.assert_allclose(saliency, expected, atol=1e-4)


def test_only_the_branch_is_float32(case: tuple[Real, Path, Exported]) -> None:
    """The network's own weights are unchanged; the added part is small."""
    real, target, _ = case
    before, after = onnx.load(shared(f"models/{real.file}")), onnx.load(target)
    kept = {t.name: (t.data_type, t.raw_data) for t in after.graph.initializer}
    big = [t for t in before.graph.initializer if len(t.raw_data) > 1000]
    assert big
    assert all(kept[t.name] == (t.data_type, t.raw_data) for t in big)
    added = target.stat().st_size - shared(f"models/{real.file}").stat().st_size
    assert added < 200_000
