"""The look of the JavaScript against the Python runtime's, on the same frame and map."""

from __future__ import annotations

import colorsys
from pathlib import Path

import cv2
import numpy as np
import pytest
from fastcam_runtime import overlay
from fastcam_runtime.draw import colormaps, contrast
from fastcam_runtime.draw.boxes import class_colour
from fastcam_runtime.image import Geometry
from support.node import run_node

OVERLAY = """
const { lay } = await web("image/geometry.js");
const { limitsOf, overlay } = await web("fastcam.js");
const { partOf } = await web("draw/contrast.js");
const [height, width] = given.frame, [h, w] = given.map;
const map = { data: new Float32Array(bytes(given.map_file).buffer), width: w, height: h, channels: 1 };
const geometry = lay(given.frame, given.map, given.resize);
const picture = overlay({ data: bytes(given.frame_file), width, height }, map, geometry);
writeFileSync(given.out, picture.data);
return limitsOf(map, partOf(map, geometry));
"""


def photo(height: int, width: int) -> np.ndarray:
    """A part of the cat of the example clip, with all its colours."""
    clip = Path(colormaps.__file__).parents[1] / "sources" / "clip" / "chelsea.jpg"
    return cv2.resize(cv2.imread(str(clip)), (width, height))


def hills(height: int, width: int) -> np.ndarray:
    """A smooth map with fine detail, in 0…1."""
    random = np.random.default_rng(height)
    smooth = cv2.GaussianBlur(random.random((height, width)), (0, 0), height / 12)
    mixed = (smooth - smooth.min()) / np.ptp(smooth) + 0.05 * random.random((height, width))
    return np.clip(mixed / mixed.max(), 0, 1).astype(np.float32)


def javascript_overlay(
    frame: np.ndarray, saliency: np.ndarray, resize: str, folder: Path
) -> tuple[np.ndarray, dict[str, float]]:
    """The picture of the JavaScript, BGR, and the limits of the map."""
    (folder / "frame").write_bytes(cv2.cvtColor(frame, cv2.COLOR_BGR2RGBA).tobytes())
    (folder / "map").write_bytes(saliency.tobytes())
    limits = run_node(
        OVERLAY,
        frame=frame.shape[:2],
        map=saliency.shape,
        resize=resize,
        frame_file=str(folder / "frame"),
        map_file=str(folder / "map"),
        out=str(folder / "picture"),
    )
    pixels = np.fromfile(folder / "picture", np.uint8).reshape(*frame.shape[:2], 4)
    return cv2.cvtColor(pixels, cv2.COLOR_RGBA2BGR), limits


@pytest.mark.slow
@pytest.mark.parametrize(
    ("frame", "saliency", "resize"),
    [
        ((480, 640), (224, 224), "stretch"),
        ((720, 1280), (224, 224), "crop"),  # two rows of the frame share a row of the map
        ((361, 200), (96, 112), "letterbox"),
        ((100, 130), (224, 224), "stretch"),
    ],
)
def test_overlay_is_the_default_blend_of_the_runtime(
    frame: tuple[int, int], saliency: tuple[int, int], resize: str, tmp_path: Path
) -> None:
    picture, heat = photo(*frame), hills(*saliency)
    geometry = Geometry.lay(frame, saliency, resize)
    wanted = overlay(picture, heat, geometry)
    found, limits = javascript_overlay(picture, heat, resize, tmp_path)
    assert (limits["low"], limits["high"]) == contrast.limits(geometry.undo(heat))
    assert np.abs(wanted.astype(int) - picture).max() > 100
    assert np.abs(found.astype(int) - wanted).max() <= 2


@pytest.mark.parametrize("value", [0.5, np.nan])
def test_map_without_contrast_leaves_the_frame(value: float, tmp_path: Path) -> None:
    frame = photo(60, 80)
    found, _ = javascript_overlay(frame, np.full((32, 32), value, np.float32), "stretch", tmp_path)
    np.testing.assert_array_equal(found, frame)


def test_few_bright_pixels_are_shown(tmp_path: Path) -> None:
    frame, heat = photo(64, 64), np.zeros((64, 64), np.float32)
    heat[30, 20] = 0.7
    found, limits = javascript_overlay(frame, heat, "stretch", tmp_path)
    assert limits == {"low": 0.0, "high": float(np.float32(0.7))}
    assert np.abs(found.astype(int) - overlay(frame, heat)).max() <= 2
    assert (found != frame).any(axis=2).sum() == 1


def test_map_alone_has_the_colours_of_the_runtime() -> None:
    body = """
    const { Layer } = await web("draw/focus.js");
    const { INFERNO } = await web("fastcam.js");
    const map = { data: Float32Array.from({ length: 256 }, (_, i) => i / 255), width: 256, height: 1 };
    const out = new Uint8ClampedArray(4 * 256);
    new Layer().alone(map, { x: 0, y: 0, width: 256, height: 1 }, [1, 256], out);
    return { colours: [...INFERNO], painted: [...out] };
    """
    found = run_node(body)
    wanted = colormaps.table(colormaps.DEFAULT).reshape(256, 3)[:, ::-1]
    np.testing.assert_array_equal(np.array(found["colours"]).reshape(256, 3), wanted)
    painted = np.array(found["painted"]).reshape(256, 4)
    np.testing.assert_array_equal(painted, np.column_stack([wanted, np.full(256, 255)]))


def test_classes_have_the_colours_of_the_runtime() -> None:
    body = 'const { classColour } = await web("draw/boxes.js"); return given.classes.map(classColour);'
    classes = [0, 1, 2, 15, 34, 50, 79, 999]
    for index, colour in zip(classes, run_node(body, classes=classes), strict=True):
        assert colour == list(class_colour(index))[::-1]
        saturation = (0.75, 0.4, 0.9, 0.45)[index // 21 % 4]
        assert colorsys.rgb_to_hsv(*colour)[1] == pytest.approx(saturation, abs=0.01)
