"""The pictures that maps are compared on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fastcam_export.tune.pictures import LARGEST_SIDE, MOST, read_pictures


def test_pictures_of_a_folder(folder: Path, pictures: list[np.ndarray]) -> None:
    found = read_pictures(str(folder / "pictures"))
    assert len(found) == len(pictures)
    for image, expected in zip(found, pictures, strict=True):
        np.testing.assert_array_equal(image, expected)


@pytest.mark.parametrize("count", [1, MOST, MOST + 1, 3 * MOST, 7 * MOST + 5])
def test_pictures_spread_over_a_clip(count: int) -> None:
    from fastcam_runtime.sources import open_source

    uri = f"test://?frames={count}"  # large enough for every frame to be another
    with open_source(uri) as source:
        every = [hash(frame.image.tobytes()) for frame in iter(source.read, None)]
    found = [every.index(hash(image.tobytes())) for image in read_pictures(uri)]
    assert len(found) == min(count, MOST)
    gaps = np.diff([*found, count])
    assert found[0] == 0
    assert gaps.max() <= 2 * count / len(found) + 1
    assert gaps.min() >= 1


def test_an_endless_source_and_a_large_photo() -> None:
    assert len(read_pictures("test://?frames=0&size=8x8")) == MOST
    (picture,) = read_pictures("test://?frames=1&size=1600x800")
    assert picture.shape == (LARGEST_SIDE // 2, LARGEST_SIDE, 3)
