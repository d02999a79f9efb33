"""The caption: below the picture or inside it, large enough to read, at any size."""

from __future__ import annotations

import numpy as np
import pytest
from fastcam_runtime.draw.caption import row_height, write_corner, write_row
from fastcam_runtime.draw.lettering import Lettering

SIZES = [(240, 320), (480, 640), (720, 1280), (2160, 3840), (1280, 720)]


def write_bar(picture: np.ndarray, left: str, right: str) -> None:
    """Write on the lower edge of a picture."""
    size = picture.shape[:2]
    write_row(picture[-row_height(*size) :], Lettering.for_picture(*size), left, right)


def letters(picture: np.ndarray) -> np.ndarray:
    return picture.max(-1) > 200


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_text_is_legible_and_the_rest_untouched(size: tuple[int, int]) -> None:
    height, width = size
    picture = np.full((height, width, 3), 90, np.uint8)
    write_bar(picture, "Egyptian cat 87%", "24.9 fps  12.3 ms")
    rows, columns = np.nonzero(letters(picture))
    assert rows.max() - rows.min() >= max(
        9, min(height / 50, width / 80)
    )  # about capital height, with descenders
    assert rows.min() > 0.8 * height
    assert columns.min() < 0.1 * width  # the label on the left
    assert columns.max() > 0.85 * width  # the figures on the right
    assert columns.max() < width - 1
    assert (picture[: int(0.8 * height)] == 90).all()
    assert row_height(*size) % 2 == 0  # video encoders want even sizes


def test_a_long_label_is_cut_and_does_not_run_into_the_figures() -> None:
    picture = np.zeros((240, 320, 3), np.uint8)
    write_bar(picture, "a label that goes on and on and on and on and on 87%", "24.9 fps")
    used = letters(picture).any(axis=0)
    alone = np.zeros_like(picture)
    write_bar(alone, "", "24.9 fps")
    start = np.nonzero(letters(alone).any(axis=0))[0].min()
    assert used[: start // 2].any()
    assert not used[start - 4 : start].any()
    np.testing.assert_array_equal(used[start:], letters(alone).any(axis=0)[start:])


def test_where_there_is_no_room_for_both_the_label_stays() -> None:
    picture, alone = np.zeros((60, 100, 3), np.uint8), np.zeros((60, 100, 3), np.uint8)
    write_bar(picture, "cat", "24.9 fps  12.3 ms")
    write_bar(alone, "cat", "")
    np.testing.assert_array_equal(picture, alone)
    assert letters(alone).any()


@pytest.mark.parametrize("size", [(1, 1), (2, 50), (50, 2), (12, 12)])
def test_tiny_pictures_do_no_harm(size: tuple[int, int]) -> None:
    picture = np.zeros((*size, 3), np.uint8)
    write_bar(picture, "cat", "1 fps")
    write_corner(picture, "1: 7 x 7")


def test_any_text_can_be_written() -> None:
    picture = np.zeros((240, 320, 3), np.uint8)
    write_bar(picture, "café 猫 😀", "\n")
    assert letters(picture).any()


@pytest.mark.parametrize("width", [74, 107, 640])
def test_the_corner_shows_all_of_a_size(width: int) -> None:
    """74: a third of 224, a tile of five scales and the frame."""
    first, second = (np.zeros((width, width, 3), np.uint8) for _ in range(2))
    write_corner(first, "1: 112 x 112")
    write_corner(second, "1: 112 x 117")
    assert (first != second).any()


def test_the_corner_is_in_the_corner() -> None:
    picture = np.full((240, 320, 3), 255, np.uint8)
    write_corner(picture, "1: 112 x 112")
    assert (picture[:15, :60] < 255).any()
    assert (picture[40:] == 255).all()
    assert (picture[:, 200:] == 255).all()


def test_zeros_are_not_slashed() -> None:
    """The middle of a zero is empty: a slash through it looks like an eight on a small screen."""
    picture = np.zeros((120, 100, 3), np.uint8)
    Lettering(80).put(picture, "0", 10, 100)
    rows, columns = np.nonzero(letters(picture))
    y, x = (rows.min() + rows.max()) // 2, (columns.min() + columns.max()) // 2
    assert not letters(picture)[y - 8 : y + 8, x - 4 : x + 4].any()
