"""Maps over frames: in the right place, in the right colours."""

from __future__ import annotations

import itertools
import pickle
from pathlib import Path

import cv2
import numpy as np
import pytest
from fastcam_runtime import Explainer, FastcamError, Geometry, Overlay, contract, native, overlay
from fastcam_runtime.draw import colormaps
from fastcam_runtime.draw.overlay import BLENDS
from fastcam_runtime.native import blending
from support.tiny_grafts import save_graft

FRAMES = [(480, 640), (640, 480), (101, 333), (64, 64)]


def box_of(picture: np.ndarray) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of the pixels above half brightness, as shares of the picture."""
    rows, columns = np.nonzero(picture > 0.5 * picture.max())
    height, width = picture.shape
    return columns.min() / width, rows.min() / height, (columns.max() + 1) / width, (rows.max() + 1) / height


@pytest.mark.parametrize("resize", contract.RESIZE)
@pytest.mark.parametrize("size", FRAMES)
def test_a_bright_square_is_drawn_where_it_is(tmp_path: Path, resize: str, size: tuple[int, int]) -> None:
    """Through the whole chain: preprocessing, a network whose map is the brightness, back onto the frame."""
    height, width = size
    frame = np.zeros((height, width, 3), np.uint8)
    # off centre in both directions, inside a centre crop to 3:2 of all frames
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
    saliency = np.ones((20, 20), np.float32)
    picture = overlay(frame, saliency, geometry, colormap="gray", alpha=0.25, blend="colour")
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
        picture = Overlay(alpha=alpha, blend="colour", compiled=compiled).draw(frame, saliency)
        expected = (1 - alpha) * frame + alpha * colormaps.table("inferno")[levels, 0]
        np.testing.assert_allclose(picture, expected, atol=1.5)  # two terms: one rounded up, one to nearest


@pytest.mark.parametrize("compiled", [True, False])
def test_focus_follows_the_map_between_its_percentiles(compiled: bool) -> None:
    rng = np.random.default_rng(0)
    frame = rng.integers(0, 256, (60, 64, 3), np.uint8)
    saliency = 0.2 + 0.6 * rng.random((60, 64), np.float32)
    low, high = np.percentile(saliency, [50, 99.5], method="nearest")
    picture = Overlay(alpha=0.8, compiled=compiled).draw(frame, saliency)
    # the opacity is a whole number of 255ths, and the colour is that of the opacity
    opacity = np.rint(255 * 0.8 * np.clip((saliency - low) / (high - low), 0, 1)) / 255
    colours = colormaps.table("inferno")[np.rint(255 * opacity / 0.8).astype(int), 0]
    np.testing.assert_allclose(
        picture, (1 - opacity[..., None]) * frame + opacity[..., None] * colours, atol=2.5
    )
    below = saliency < low - 0.01
    np.testing.assert_array_equal(picture[below], frame[below])  # the frame keeps its colours


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("height", [90, 91])
def test_a_map_that_is_enlarged_much_serves_two_rows_at_a_time(compiled: bool, height: int) -> None:
    """The shared levels are halfway between the two rows: the picture is that of half the height, doubled."""
    rng = np.random.default_rng(1)
    saliency = rng.random((30, 40), np.float32)
    frame = np.zeros((height, 40, 3), np.uint8)
    picture = Overlay("gray", compiled=compiled).draw(frame, saliency)[..., 0].astype(float)
    np.testing.assert_array_equal(picture[: height - 1 : 2], picture[1::2])
    low, high = np.percentile(saliency, [50, 99.5])
    share = np.clip((saliency - low) / (high - low), 0, 1)
    ys = np.clip((np.arange(-(-height // 2)) + 0.5) * 30 / (-(-height // 2)) - 0.5, 0, 29)
    above = np.minimum(ys.astype(int), 28)
    part = (ys - above)[:, None]
    opacity = 0.9 * (share[above] * (1 - part) + share[above + 1] * part)
    np.testing.assert_allclose(picture[::2], 255 * opacity * opacity / 0.9, atol=4)


@pytest.mark.parametrize("value", [0.0, 0.4, 1.0, np.nan])
def test_focus_shows_nothing_of_a_constant_map(value: float) -> None:
    frame = np.random.default_rng(0).integers(0, 256, (30, 40, 3), np.uint8)
    np.testing.assert_array_equal(overlay(frame, np.full((8, 8), value, np.float32)), frame)


@pytest.mark.parametrize("spread", [1e-2, 1e-5, 1e-7])
def test_focus_shows_what_little_contrast_there_is(spread: float) -> None:
    """However close the values are, the brightest pixels are shown and the dark ones are not."""
    saliency = np.full((40, 40), 0.5, np.float32)
    saliency[:10] += np.float32(spread)
    saliency[0, :3] = 1.0
    picture = overlay(np.zeros((40, 40, 3), np.uint8), saliency, colormap="gray")
    assert picture[1:10].min() > 200
    assert picture[0, 0].min() > 200
    assert not picture[20:].any()


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_focus_shows_nothing_where_a_map_is_no_number(odd: float) -> None:
    saliency = np.linspace(0, 1, 64 * 64, dtype=np.float32).reshape(64, 64)
    saliency[60, 10] = odd
    picture = overlay(np.zeros((64, 64, 3), np.uint8), saliency, colormap="gray")
    assert picture[60, 12].min() > 150
    if not odd > 0:
        assert not picture[60, 10].any()


def test_focus_shows_a_spot_smaller_than_its_percentile() -> None:
    frame, saliency = np.zeros((64, 64, 3), np.uint8), np.zeros((64, 64), np.float32)
    saliency[10:12, 20:22] = 1.0  # 4 of 4096 pixels
    picture = overlay(frame, saliency, colormap="gray")
    assert picture[10, 20].min() > 200
    assert not picture[40:].any()


def test_outside_of_a_crop_focus_halves_the_frame() -> None:
    frame = np.full((40, 100, 3), 200, np.uint8)
    picture = overlay(frame, np.ones((20, 20), np.float32), Geometry.lay((40, 100), (20, 20), "crop"))
    assert (picture[:, :30] == 100).all()
    assert (picture[:, 30:70] == 200).all()  # inside the crop, with a map of 0


def test_steady_limits_do_not_follow_a_single_frame() -> None:
    """A flash raises the map everywhere for one frame: the picture of a steady overlay changes less."""
    frame = np.zeros((40, 40, 3), np.uint8)
    calm = np.random.default_rng(0).random((40, 40), np.float32)
    flash = calm.copy()
    flash[0, :] = 1.5
    changes = {}
    for steady in (0.0, 0.9):
        drawer = Overlay("gray", steady=steady)
        before = drawer.draw(frame, calm).astype(int)
        changes[steady] = np.abs(drawer.draw(frame, flash).astype(int) - before)[1:].mean()
        drawer.reset()
        np.testing.assert_array_equal(drawer.draw(frame, calm), before)
    assert changes[0.9] < 0.3 * changes[0.0]


def test_on_a_still_scene_the_overlay_changes_no_more_than_the_map() -> None:
    """Sensor noise in the map: the contrast of `focus` must not amplify it in the picture."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[0:1:56j, 0:1:56j]
    scene = (0.4 + 0.5 * np.exp(-((x - 0.4) ** 2 + (y - 0.6) ** 2) / 0.02) + 0.1 * np.sin(9 * x)).astype(
        np.float32
    )
    frame = rng.integers(0, 256, (112, 112, 3), np.uint8)
    drawer = Overlay(steady=0.9)
    maps = [np.clip(scene + rng.normal(0, 0.02, scene.shape), 0, 1).astype(np.float32) for _ in range(20)]
    pictures = [drawer.draw(frame, saliency).astype(np.float64) / 255 for saliency in maps]
    of_map = np.mean([np.abs(a - b).mean() for a, b in itertools.pairwise(maps)])
    of_picture = np.mean([np.abs(a - b).mean() for a, b in itertools.pairwise(pictures)])
    assert of_picture <= of_map


@pytest.mark.skipif(blending.load() is None, reason=native.status())
@pytest.mark.parametrize("size", [(13, 3), (13, 4), (13, 5), (13, 7), (13, 8), (31, 99), (44, 64), (45, 70)])
@pytest.mark.parametrize("resize", contract.RESIZE)
@pytest.mark.parametrize("part", [np.s_[:], np.s_[1:-1, 2:], np.s_[::-1, ::-1], np.s_[..., ::-1]])
def test_the_compiled_blend_draws_the_same_picture(size: tuple[int, int], resize: str, part: object) -> None:
    rng = np.random.default_rng(size)
    frame = rng.integers(0, 256, (*size, 3), np.uint8)[part]  # type: ignore[index]
    geometry = Geometry.lay(frame.shape[:2], (8, 8), resize)
    saliency = rng.random((8, 8), np.float32)
    for blend in BLENDS:
        pictures = [
            Overlay("jet", blend=blend, compiled=wanted).draw(frame, saliency, geometry).copy()
            for wanted in (True, False)
        ]
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
    for blend, expected in {"focus": 100, "colour": 50, "paper": 25}.items():
        picture = overlay(frame, np.zeros((8, 8), np.float32), colormap="gray", blend=blend)
        assert picture.shape == (30, 40, 3)
        assert (picture == expected).all()


def test_buffers_are_reused_and_follow_the_frame_size() -> None:
    drawer = Overlay()
    saliency = np.random.default_rng(0).random((8, 8), np.float32)
    first = drawer.draw(np.zeros((30, 40, 3), np.uint8), saliency)
    assert drawer.draw(np.zeros((30, 40, 3), np.uint8), saliency) is first
    assert drawer.draw(np.zeros((20, 60, 3), np.uint8), saliency).shape == (20, 60, 3)
    # nothing of a wider crop remains after a narrower one
    full = np.ones((8, 8), np.float32)
    frame = np.zeros((20, 60, 3), np.uint8)
    drawer.draw(frame, full)
    assert not drawer.draw(frame, full, Geometry.lay((20, 60), (8, 8), "crop"))[:, :20].any()


def test_the_frame_is_not_touched() -> None:
    frame = np.random.default_rng(0).integers(0, 256, (30, 40, 3), np.uint8)
    before = frame.copy()
    for blend in BLENDS:
        overlay(frame, np.ones((8, 8), np.float32), blend=blend)
    np.testing.assert_array_equal(frame, before)


def test_refusals() -> None:
    frame, saliency = np.zeros((30, 40, 3), np.uint8), np.zeros((8, 8), np.float32)
    with pytest.raises(FastcamError, match=r"no colour map 'virides'; one of .*; closest: viridis"):
        overlay(frame, saliency, colormap="virides")
    with pytest.raises(FastcamError, match=r"alpha is 1\.5"):
        overlay(frame, saliency, alpha=1.5)
    with pytest.raises(FastcamError, match="no blend 'add'; one of focus, colour, paper"):
        overlay(frame, saliency, blend="add")
    with pytest.raises(FastcamError, match="belongs to a frame of 20×20 pixels, not 30×40"):
        overlay(frame, saliency, Geometry.lay((20, 20), (8, 8), "crop"))
    with pytest.raises(FastcamError, match="a map must be H×W"):
        overlay(frame, saliency[None])
