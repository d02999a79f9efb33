"""Maps over frames: in the right place, in the right colours."""

from __future__ import annotations

import pickle
from pathlib import Path

import cv2
import numpy as np
import pytest
from fastcam_runtime import Explainer, FastcamError, Geometry, Overlay, contract, native, overlay
from fastcam_runtime.draw import colormaps
from fastcam_runtime.native import blending
from support.tiny_grafts import save_graft

FRAMES = [(480, 640), (640, 480), (101, 333), (64, 64)]


def box_of(picture: np.ndarray) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of what is brighter than half, as shares of the picture."""
    rows, columns = np.nonzero(picture > 0.5 * picture.max())
    height, width = picture.shape
    return columns.min() / width, rows.min() / height, (columns.max() + 1) / width, (rows.max() + 1) / height


@pytest.mark.parametrize("resize", contract.RESIZE)
@pytest.mark.parametrize("size", FRAMES)
def test_a_bright_square_is_drawn_where_it_is(tmp_path: Path, resize: str, size: tuple[int, int]) -> None:
    """Through the whole chain: preprocessing, a network whose map is the brightness, back onto the frame."""
    height, width = size
    frame = np.zeros((height, width, 3), np.uint8)
    # off centre in both directions, inside of what a centre crop to 3:2 sees of any of the frames
    top, bottom = round(0.40 * height), round(0.50 * height)
    left, right = round(0.52 * width), round(0.64 * width)
    frame[top:bottom, left:right] = 255
    path = save_graft(tmp_path / "m.onnx", size=(128, 192), resize=resize)
    explanation = Explainer(path, threads=1)(frame)
    heat = Overlay("gray").heat(explanation.maps[contract.MAP], explanation.geometry)[..., 0]
    assert heat.shape == size
    got = np.array(box_of(heat)) * [width, height, width, height]
    # one pixel of the map is this large on the frame
    pixel = [geometry_scale(explanation.geometry)] * 2
    np.testing.assert_array_less(abs(got - [left, top, right, bottom]), [*pixel, *pixel])


def geometry_scale(geometry: Geometry) -> float:
    seen, placed = geometry.seen, geometry.placed
    return 1.0 + max(seen.width / placed.width, seen.height / placed.height)


def test_outside_of_a_crop_the_frame_is_darkened() -> None:
    frame = np.full((40, 100, 3), 200, np.uint8)
    geometry = Geometry.lay((40, 100), (20, 20), "crop")
    picture = overlay(frame, np.ones((20, 20), np.float32), geometry, colormap="gray", alpha=0.25)
    assert (picture[:, :30] == 150).all()
    assert (picture[:, 70:] == 150).all()
    assert (abs(picture[:, 30:70].astype(int) - (150 + 64)) <= 1).all()


def test_letterbox_bars_do_not_reach_the_frame() -> None:
    geometry = Geometry.lay((20, 80), (64, 64), "letterbox")
    saliency = np.ones((64, 64), np.float32)
    geometry.placed.of(saliency)[:] = 0
    assert not Overlay("gray").heat(saliency, geometry).any()


@pytest.mark.parametrize("compiled", [True, False])
def test_blend_is_the_weighted_mean_of_frame_and_colour(compiled: bool) -> None:
    rng = np.random.default_rng(0)
    frame = rng.integers(0, 256, (16, 24, 3), np.uint8)
    saliency = rng.random((16, 24), np.float32)
    levels = np.rint(saliency * 255).astype(int)
    for alpha in (0.0, 0.3, 0.5, 1.0):
        picture = Overlay(alpha=alpha, compiled=compiled).draw(frame, saliency)
        expected = (1 - alpha) * frame + alpha * colormaps.table("inferno")[levels, 0]
        np.testing.assert_allclose(picture, expected, atol=0.51)


@pytest.mark.skipif(blending.load() is None, reason=native.status())
@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 8, 97])
@pytest.mark.parametrize("resize", contract.RESIZE)
@pytest.mark.parametrize("part", [np.s_[:], np.s_[1:-1, 2:], np.s_[::-1, ::-1], np.s_[..., ::-1]])
def test_the_compiled_blend_draws_the_same_picture(width: int, resize: str, part: object) -> None:
    rng = np.random.default_rng(width)
    frame = rng.integers(0, 256, (13, width + 2, 3), np.uint8)[part]  # type: ignore[index]
    geometry = Geometry.lay(frame.shape[:2], (8, 8), resize)
    saliency = rng.random((8, 8), np.float32)
    pictures = [Overlay("jet", compiled=wanted).draw(frame, saliency, geometry) for wanted in (True, False)]
    np.testing.assert_array_equal(*pictures)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("part", [np.s_[:], np.s_[::-1], np.s_[:, ::-1]])
def test_the_last_picture_can_be_drawn_on_once_more(compiled: bool, part: object) -> None:
    rng = np.random.default_rng(0)
    frame, saliency = rng.integers(0, 256, (60, 80, 3), np.uint8), rng.random((60, 80), np.float32)
    drawer = Overlay(compiled=compiled)
    expected = drawer.draw(drawer.draw(frame, saliency)[part].copy(), saliency).copy()  # type: ignore[index]
    again = drawer.draw(drawer.draw(frame, saliency)[part], saliency)  # type: ignore[index]
    np.testing.assert_array_equal(again, expected)


def test_an_overlay_can_be_sent_to_another_process() -> None:
    frame, saliency = np.full((6, 8, 3), 90, np.uint8), np.eye(8, dtype=np.float32)
    drawer = Overlay()
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(drawer)).draw(frame, saliency), drawer.draw(frame, saliency)
    )


@pytest.mark.parametrize(
    "wrong",
    [None, [[0.5]], np.zeros(8, np.float32), np.zeros((0, 8), np.float32), np.zeros((8, 8, 2), np.uint8)],
)
def test_what_is_no_map(wrong: object) -> None:
    with pytest.raises(FastcamError, match="a map must be"):
        overlay(np.zeros((30, 40, 3), np.uint8), wrong)  # type: ignore[arg-type]


def test_paper_blend_is_a_quarter_gray_frame() -> None:
    frame = np.random.default_rng(0).integers(0, 256, (16, 24, 3), np.uint8)
    picture = overlay(frame, np.ones((16, 24), np.float32), colormap="gray", blend="paper")
    gray = frame @ np.array([0.114, 0.587, 0.299])
    expected = 0.25 * gray + 0.75 * 255
    np.testing.assert_allclose(picture, np.repeat(expected[..., None], 3, -1), atol=1)


def test_lovi_is_rgb_and_the_picture_bgr() -> None:
    red = np.zeros((8, 8, 3), np.uint8)
    red[..., 0] = 255
    frame = np.zeros((32, 48, 3), np.uint8)
    np.testing.assert_array_equal(overlay(frame, red, alpha=1.0)[0, 0], (0, 0, 255))


@pytest.mark.parametrize("name", ["inferno", "viridis", "magma", "plasma", "cividis", "gray"])
def test_uniform_colour_maps_grow_lighter(name: str) -> None:
    """Not inverted, and lightness (CIE L*) rises over the whole range; jet's does not."""
    lightness = cv2.cvtColor(colormaps.table(name), cv2.COLOR_BGR2LAB)[:, 0, 0].astype(int)
    assert (np.diff(lightness) >= -1).all()
    assert lightness[-1] - lightness[0] > 150


def test_inferno_is_not_swapped() -> None:
    blue, green, red = (int(value) for value in colormaps.table("inferno")[150, 0])
    assert red > green > blue


@pytest.mark.parametrize("shape", [(30, 40), (30, 40, 1), (30, 40, 4)])
def test_gray_and_bgra_frames(shape: tuple[int, ...]) -> None:
    frame = np.full(shape, 100, np.uint8)
    for blend in ("colour", "paper"):
        picture = overlay(frame, np.zeros((8, 8), np.float32), colormap="gray", blend=blend)
        assert picture.shape == (30, 40, 3)
        assert (picture == (50 if blend == "colour" else 25)).all()


def test_buffers_are_reused_and_follow_the_frame_size() -> None:
    drawer = Overlay()
    saliency = np.random.default_rng(0).random((8, 8), np.float32)
    first = drawer.draw(np.zeros((30, 40, 3), np.uint8), saliency)
    assert drawer.draw(np.zeros((30, 40, 3), np.uint8), saliency) is first
    assert drawer.draw(np.zeros((20, 60, 3), np.uint8), saliency).shape == (20, 60, 3)
    # a narrower crop leaves nothing of the wider one behind
    full = np.ones((8, 8), np.float32)
    frame = np.zeros((20, 60, 3), np.uint8)
    drawer.draw(frame, full)
    assert not drawer.draw(frame, full, Geometry.lay((20, 60), (8, 8), "crop"))[:, :20].any()


def test_the_frame_is_not_touched() -> None:
    frame = np.random.default_rng(0).integers(0, 256, (30, 40, 3), np.uint8)
    before = frame.copy()
    for blend in ("colour", "paper"):
        overlay(frame, np.ones((8, 8), np.float32), blend=blend)
    np.testing.assert_array_equal(frame, before)


def test_refusals() -> None:
    frame, saliency = np.zeros((30, 40, 3), np.uint8), np.zeros((8, 8), np.float32)
    with pytest.raises(FastcamError, match=r"no colour map 'virides'; one of .*; closest: viridis"):
        overlay(frame, saliency, colormap="virides")
    with pytest.raises(FastcamError, match=r"alpha is 1\.5"):
        overlay(frame, saliency, alpha=1.5)
    with pytest.raises(FastcamError, match="no blend 'add'; one of colour, paper"):
        overlay(frame, saliency, blend="add")
    with pytest.raises(FastcamError, match="belongs to a frame of 20×20 pixels, not 30×40"):
        overlay(frame, saliency, Geometry.lay((20, 20), (8, 8), "crop"))
    with pytest.raises(FastcamError, match="a map must be H×W"):
        overlay(frame, saliency[None])
