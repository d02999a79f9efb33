"""The built-in clip against a float64 bilinear oracle, and what its URI promises."""

from __future__ import annotations

import dataclasses

import cv2
import numpy as np
import pytest
from fastcam_runtime.errors import SourceError
from fastcam_runtime.sources import SourceOptions, open_source
from fastcam_runtime.sources.test_clip import PHOTOS, PhotoCrop, TestClip
from support.clip_boxes import CAT_FACE, SUBJECTS, Box, in_frame

SIZES = [(640, 480), (1280, 720), (224, 224), (240, 320), (97, 33), (1, 1)]


def open_clip(query: str = "", **options: object) -> TestClip:
    clip = open_source(f"test://{query}", **options)  # type: ignore[arg-type]
    assert isinstance(clip, TestClip)
    return clip


def photo(name: str) -> np.ndarray:
    return cv2.imread(str(PHOTOS / name))


def bilinear(image: np.ndarray, crop: PhotoCrop, size: tuple[int, int]) -> np.ndarray:
    """The window of the photo at `size`: half-pixel centres, edges repeated, float64."""

    def axis(first: int, count: int, scale: float, limit: int) -> tuple[np.ndarray, ...]:
        place = (first + np.arange(count) + 0.5) / scale - 0.5
        low = np.floor(place)
        below, above = (np.clip(low + k, 0, limit - 1).astype(int) for k in (0, 1))
        return below, above, place - low

    x0, x1, fx = axis(crop.left, size[0], crop.scale[0], image.shape[1])
    y0, y1, fy = axis(crop.top, size[1], crop.scale[1], image.shape[0])
    rows = image.astype(np.float64)
    rows = rows[y0] * (1 - fy)[:, None, None] + rows[y1] * fy[:, None, None]
    return rows[:, x0] * (1 - fx)[None, :, None] + rows[:, x1] * fx[None, :, None]


def assert_pictures_equal(picture: np.ndarray, expected: np.ndarray, roundings: int) -> None:
    """To what OpenCV rounds: each time half a level at the end, and the resize in fixed point before it,
    to quarters cut off twice and to weights of 11 bits. On the mean a rounding is a quarter of a level."""
    error = np.abs(picture - expected)
    assert error.max() <= 0.5 * roundings + 0.5 + 0.125
    assert error.mean() <= 0.25 * roundings + 0.05


@pytest.mark.parametrize("index", [0, 77, 149, 168, 299])
def test_frame_is_the_window_of_the_photo(index: int) -> None:
    clip = TestClip()
    (crop,) = clip.crops(index)
    assert crop.opacity == 1
    expected = bilinear(photo(crop.photo), crop, clip.size)
    assert_pictures_equal(clip.render(index), expected, roundings=1)


def test_fade_is_the_weighted_mean_of_both_photos() -> None:
    clip = TestClip()
    coffee, cat = clip.crops(158)
    assert (coffee.photo, cat.photo) == ("coffee.jpg", "chelsea.jpg")
    assert 0.2 < coffee.opacity < 0.8
    assert coffee.opacity + cat.opacity == pytest.approx(1)
    pictures = [bilinear(photo(crop.photo), crop, clip.size) for crop in (coffee, cat)]
    expected = coffee.opacity * pictures[0] + cat.opacity * pictures[1]
    assert_pictures_equal(clip.render(158), expected, roundings=2)


def test_camera_moves_on_while_its_photo_is_faded_out() -> None:
    clip = TestClip()
    times = (0, 149)
    seen = [place(clip.crops(index)[0]) for index in times]
    expected = np.vander([158], 2)[0] @ np.linalg.solve(np.vander(times, 2), seen)
    np.testing.assert_allclose(place(clip.crops(158)[1]), expected, atol=1)  # each of them is rounded


def place(crop: PhotoCrop) -> tuple[int, int]:
    return crop.left, crop.top


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_camera_stays_inside_the_photo_and_keeps_the_shape(size: tuple[int, int]) -> None:
    clip = TestClip(size=size, frames=0)
    for index in range(0, 700, 7):
        crop = clip.crops(index)[0]
        height, width = photo(crop.photo).shape[:2]
        assert min(place(crop)) >= 0
        assert crop.left + size[0] <= round(width * crop.scale[0])
        assert crop.top + size[1] <= round(height * crop.scale[1])
        # The photo was resized to whole pixels, so up to half of one off.
        across, down = crop.scale
        assert across / down == pytest.approx(1, rel=0.5 / size[0] + 0.5 / size[1])
        assert clip.render(index).shape == (size[1], size[0], 3)


def test_camera_moves_smoothly_and_far() -> None:
    clip = TestClip()
    crops = [clip.crops(index)[0] for index in range(300)]
    for shot in (crops[:150], crops[150:]):
        steps = np.abs(np.diff([place(crop) for crop in shot], axis=0)).max(axis=1)
        assert steps.max() <= 2
        assert steps.mean() > 0.5
        assert abs(shot[0].left - shot[-1].left) > 0.15 * clip.size[0]


def test_frames_cannot_be_painted_over() -> None:
    clip = TestClip(size=(64, 48), frames=10)
    before = clip.render(0).copy()
    with pytest.raises(ValueError, match="read-only"):
        clip.render(0)[:] = 0
    if cv2.__version__ < "4.9":
        pytest.skip("this OpenCV draws on read-only arrays")
    with pytest.raises(cv2.error):
        cv2.rectangle(clip.render(0), (0, 0), (9, 9), (255, 255, 255))
    np.testing.assert_array_equal(clip.render(0), before)


def test_small_frames_are_averages_not_samples() -> None:
    clip = TestClip(size=(40, 30))
    small, (crop,) = clip.render(60).astype(float), clip.crops(60)
    closer = dataclasses.replace(
        crop, left=16 * crop.left, top=16 * crop.top, scale=(16 * crop.scale[0], 16 * crop.scale[1])
    )
    large = bilinear(photo(crop.photo), closer, (640, 480))
    averaged = large.reshape(30, 16, 40, 16, 3).mean(axis=(1, 3))
    sampled = large[8::16, 8::16]
    error = [np.abs(small - other).mean() for other in (averaged, sampled)]
    assert error[0] < 1
    assert error[1] > 4


@pytest.mark.parametrize("frames", [2, 3, 10, 31, 300])
def test_any_length_shows_both_photos(frames: int) -> None:
    clip = TestClip(frames=frames)
    whole = [crop.photo for index in range(frames) if (crop := clip.crops(index)[0]).opacity == 1]
    assert whole == sorted(whole)
    assert set(whole) == {"chelsea.jpg", "coffee.jpg"}
    assert frames - len(whole) <= 1 + 0.06 * frames  # the fade


def test_reads_every_frame_in_order_and_the_same_each_time() -> None:
    with open_clip("?size=64x48&frames=20") as clip, open_clip("?size=64x48&frames=20") as again:
        assert not clip.live
        assert clip.fps == 30
        frames = list(iter(clip.read, None))
        assert [frame.index for frame in frames] == list(range(20))
        for frame in frames:
            np.testing.assert_array_equal(frame.image, again.render(frame.index))
        assert clip.read() is None


def test_defaults() -> None:
    clip = open_clip()
    assert (clip.size, clip.fps) == ((640, 480), 30)
    assert sum(1 for _ in iter(clip.read, None)) == 300


def test_endless_clip_comes_back_to_the_first_photo() -> None:
    clip = open_clip("?size=8x6&frames=0&fps=5.5")  # a round is 55 frames
    frames = [clip.read() for _ in range(120)]
    assert None not in frames
    assert clip.fps == 5.5
    assert [clip.crops(index)[0].photo for index in (0, 50, 60, 105)] == ["chelsea.jpg", "coffee.jpg"] * 2
    assert clip.crops(54)[0].opacity == 1 > clip.crops(55)[0].opacity


def test_loop_goes_on_where_the_clip_would_end() -> None:
    clip = open_clip("?size=8x6&frames=10", loop=True)
    frames = [frame for _ in range(25) if (frame := clip.read())]
    assert [frame.index for frame in frames] == list(range(25))
    np.testing.assert_array_equal(frames[24].image, frames[4].image)


def test_options_of_any_source_hold() -> None:
    plain, asked = open_clip("?size=64x48"), open_clip("?size=200x100", size=(64, 48), flip="horizontal")
    frame = asked.read()
    assert frame is not None
    np.testing.assert_array_equal(frame.image, plain.render(0)[:, ::-1])
    assert TestClip(SourceOptions(fps=12)).fps == 12


def test_closed_clip_is_at_its_end() -> None:
    clip = open_clip("?frames=0&size=8x6")
    assert clip.read() is not None
    clip.close()
    clip.close()
    assert clip.read() is None


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("test://cat", "follow a question mark"),
        ("test://[", "follow a question mark"),
        ("test://?frame=3", "no setting 'frame'.*closest: frames"),
        ("test://?size=640", "size is '640', not a value such as 640x480"),
        ("test://?size=0x480", "size 0x480 is not between"),
        ("test://?fps=fast", "fps is 'fast'"),
        ("test://?fps=0", "rate 0.0 is not"),
        ("test://?frames=-1", "frames is '-1'"),
        ("test://?frames=", "frames is ''"),
    ],
)
def test_mistakes_are_named(uri: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        open_source(uri)


def test_boxes_follow_the_camera() -> None:
    clip = TestClip()
    crop = clip.crops(100)[0]
    pupil = Box(160, 95, 185, 128)  # the left one: the darkest part of the face
    left, top, right, bottom = (round(edge) for edge in in_frame(pupil, crop, clip.size))
    face = [round(edge) for edge in in_frame(CAT_FACE, crop, clip.size)]
    gray = cv2.cvtColor(clip.render(100), cv2.COLOR_BGR2GRAY).astype(float)
    assert gray[top:bottom, left:right].mean() < 0.5 * gray[face[1] : face[3], face[0] : face[2]].mean()
    for index in (75, 225):
        box = in_frame(SUBJECTS[clip.crops(index)[0].photo], clip.crops(index)[0], clip.size)
        assert (box.right - box.left) * (box.bottom - box.top) > 0.3 * 640 * 480


def test_photos_are_small_and_their_licence_is_told() -> None:
    told = (PHOTOS / "README.md").read_text(encoding="utf-8")
    for path in PHOTOS.glob("*.jpg"):
        assert path.stat().st_size < 60_000
        assert path.name in told
    assert told.count("CC0") >= 2
