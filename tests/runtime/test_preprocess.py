"""Frames to tensors, against float64 arithmetic written out here."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from fastcam_runtime import ModelError, SourceError
from fastcam_runtime.contract import PREPROCESS, ImageInput, Preprocess
from fastcam_runtime.image import Geometry
from fastcam_runtime.preprocess import Preprocessor
from hypothesis import given
from hypothesis import strategies as st

SIDES = st.integers(1, 4000)


def noise(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 256, shape, np.uint8)


def expected(frame_bgr: np.ndarray, preprocess: Preprocess) -> np.ndarray:
    """3×H×W in float64."""
    rgb = frame_bgr[..., ::-1] if preprocess.order == "RGB" else frame_bgr
    return ((rgb.astype(np.float64) - preprocess.mean) / preprocess.std).transpose(2, 0, 1)


@pytest.mark.parametrize("order", ["RGB", "BGR"])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-6), (np.float16, 2e-3)])
def test_values_order_and_layout(order: str, layout: str, dtype: type, tolerance: float) -> None:
    preprocess = Preprocess(order, (123.675, 116.28, 103.53), (58.395, 57.12, 57.375))
    frame = noise(20, 30, 3)
    tensor, _ = Preprocessor(ImageInput("x", layout, 3, 20, 30), preprocess, dtype=dtype)(frame)
    assert tensor.dtype == dtype
    got = tensor[0] if layout == "NCHW" else tensor[0].transpose(2, 0, 1)
    np.testing.assert_allclose(got, expected(frame, preprocess), atol=tolerance)


def test_uint8_input_is_the_picture_itself() -> None:
    frame = noise(8, 9, 3)
    tensor, _ = Preprocessor(ImageInput("x", "NHWC", 3, 8, 9), PREPROCESS["raw255"], dtype=np.uint8)(frame)
    np.testing.assert_array_equal(tensor[0], frame[..., ::-1])


def test_uint8_input_rounds_and_clips() -> None:
    doubled = Preprocess("BGR", (10.0, 10.0, 10.0), (0.5, 0.5, 0.5))
    frame = noise(8, 9, 3)
    tensor, _ = Preprocessor(ImageInput("x", "NHWC", 3, 8, 9), doubled, dtype=np.uint8)(frame)
    np.testing.assert_array_equal(tensor[0], np.clip((frame.astype(int) - 10) * 2, 0, 255))


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_gray_network(layout: str) -> None:
    frame = noise(6, 7, 3)
    tensor, _ = Preprocessor(ImageInput("x", layout, 1, 6, 7), Preprocess("GRAY", (0.0,), (255.0,)))(frame)
    luma = frame @ np.array([0.114, 0.587, 0.299]) / 255
    np.testing.assert_allclose(tensor.reshape(6, 7), luma, atol=0.51 / 255 + 1e-6)


def test_gray_and_bgra_frames() -> None:
    preprocessor = Preprocessor(ImageInput("x", "NCHW", 3, 6, 7), PREPROCESS["unit"])
    gray = noise(6, 7)
    for frame in (gray, gray[..., None]):
        tensor = preprocessor(frame)[0].copy()
        np.testing.assert_allclose(tensor[0], np.broadcast_to(gray / 255, (3, 6, 7)), atol=1e-6)
    bgra = noise(6, 7, 4)
    np.testing.assert_allclose(preprocessor(bgra)[0][0], bgra[..., 2::-1].transpose(2, 0, 1) / 255, atol=1e-6)


def test_a_frame_that_is_a_view_into_a_larger_one() -> None:
    large = noise(40, 60, 3)
    preprocessor = Preprocessor(ImageInput("x", "NCHW", 3, 20, 30), PREPROCESS["unit"])
    part = large[5:25, 10:40]
    np.testing.assert_array_equal(preprocessor(part)[0].copy(), preprocessor(part.copy())[0])


def test_shrinking_averages_instead_of_aliasing() -> None:
    stripes = np.zeros((64, 64, 3), np.uint8)
    stripes[:, ::2] = 255
    tensor, _ = Preprocessor(ImageInput("x", "NCHW", 3, 16, 16), PREPROCESS["raw255"])(stripes)
    np.testing.assert_allclose(tensor, 127.5, atol=1)


@pytest.mark.parametrize("size", [(128, 128), (129, 128), (127, 131), (16, 131), (250, 17)])
def test_an_odd_side_is_averaged_too(size: tuple[int, int]) -> None:
    frame = noise(*size, 3)
    tensor, _ = Preprocessor(ImageInput("x", "NCHW", 3, 16, 16), PREPROCESS["raw255"])(frame)
    # The noise is as low as in exact area averages, not as high as in single pixels.
    averaged = cv2.resize(frame, (16, 16), interpolation=cv2.INTER_AREA)
    assert np.std(tensor) < 1.35 * np.std(averaged)


def test_letterbox_bars_are_zero_whatever_came_before() -> None:
    preprocessor = Preprocessor(ImageInput("x", "NCHW", 3, 32, 32), PREPROCESS["imagenet"], "letterbox")
    preprocessor(np.full((64, 32, 3), 255, np.uint8))
    tensor, geometry = preprocessor(np.full((32, 64, 3), 255, np.uint8))
    placed = geometry.placed
    assert (placed.x, placed.y, placed.width, placed.height) == (0, 8, 32, 16)
    bars = tensor.copy()
    placed.of(bars[0].transpose(1, 2, 0))[:] = 0
    assert not bars.any()
    assert (placed.of(tensor[0].transpose(1, 2, 0)) > 2).all()


def test_crop_takes_the_centre() -> None:
    frame = np.zeros((30, 90, 3), np.uint8)
    frame[:, 30:60] = 200
    tensor, geometry = Preprocessor(ImageInput("x", "NCHW", 3, 30, 30), PREPROCESS["raw255"], "crop")(frame)
    assert (tensor == 200).all()
    assert (geometry.seen.x, geometry.seen.width) == (30, 30)


@given(
    frame=st.tuples(SIDES, SIDES), size=st.tuples(SIDES, SIDES), resize=st.sampled_from(["crop", "letterbox"])
)
def test_geometry_keeps_proportions_and_stays_inside(
    frame: tuple[int, int], size: tuple[int, int], resize: str
) -> None:
    geometry = Geometry.lay(frame, size, resize)
    for rect, (height, width) in ((geometry.seen, frame), (geometry.placed, size)):
        assert rect.width >= 1
        assert rect.height >= 1
        assert rect.x >= 0
        assert rect.y >= 0
        assert rect.x + rect.width <= width
        assert rect.y + rect.height <= height
        # centred, up to rounding to whole pixels
        assert abs(width - rect.width - 2 * rect.x) <= 1
        assert abs(height - rect.height - 2 * rect.y) <= 1
    # the fitted shape is at most half a pixel off its exact proportions, but never empty
    fitted, shape = (geometry.seen, size) if resize == "crop" else (geometry.placed, frame)
    ideal = min((geometry.frame if resize == "crop" else size)[axis] / shape[axis] for axis in (0, 1))
    assert abs(fitted.height - max(1, shape[0] * ideal)) <= 0.5 + 1e-6
    assert abs(fitted.width - max(1, shape[1] * ideal)) <= 0.5 + 1e-6


@pytest.mark.parametrize(
    "frame",
    [
        np.zeros((4, 4, 3), np.float32),
        np.zeros((4, 4, 2), np.uint8),
        np.zeros((0, 4, 3), np.uint8),
        np.zeros(4, np.uint8),
        "frame.jpg",
    ],
    ids=["float", "two channels", "empty", "one dimension", "text"],
)
def test_other_frames_are_refused(frame: object) -> None:
    with pytest.raises(SourceError, match="a frame must be"):
        Preprocessor(ImageInput("x", "NCHW", 3, 4, 4), PREPROCESS["unit"])(frame)  # type: ignore[arg-type]


def test_channels_and_order_must_agree() -> None:
    with pytest.raises(ModelError, match="1 channels, its preprocessing RGB"):
        Preprocessor(ImageInput("x", "NCHW", 1, 4, 4), PREPROCESS["unit"])
