"""The exponential mean over frames."""

from __future__ import annotations

import numpy as np
import pytest
from fastcam_runtime import FastcamError
from fastcam_runtime.draw.smoothing import Smoother


def maps(value: float, shape: tuple[int, int] = (4, 5)) -> dict[str, np.ndarray]:
    return {"saliency_map": np.full(shape, value, np.float32)}


def test_it_is_the_recurrence() -> None:
    smooth = Smoother(0.8)
    values = np.random.default_rng(0).random((10, 4, 5))
    mean = values[0]
    smooth({"m": values[0].astype(np.float32)})
    for value in values[1:]:
        mean = 0.8 * mean + 0.2 * value
        got = smooth({"m": value.astype(np.float32)})["m"]
        np.testing.assert_allclose(got, mean, atol=1e-6)
        assert got.dtype == np.float32


def test_flicker_is_damped() -> None:
    smooth = Smoother(0.8)
    shown = [smooth(maps(i % 2))["saliency_map"].mean() for i in range(40)]
    assert np.ptp(shown[20:]) < 0.12


def test_bytes_stay_bytes() -> None:
    smooth = Smoother(0.5)
    smooth({"lovi": np.full((2, 2, 3), 10, np.uint8)})
    got = smooth({"lovi": np.full((2, 2, 3), 21, np.uint8)})["lovi"]
    assert got.dtype == np.uint8
    assert (got == 16).all()  # 15.5, rounded to even


def test_a_result_is_not_changed_by_later_frames() -> None:
    smooth = Smoother(0.5)
    smooth(maps(0.0))
    second = smooth(maps(1.0))["saliency_map"]
    smooth(maps(0.0))
    assert (second == 0.5).all()


def test_what_is_no_number_is_forgotten() -> None:
    smooth = Smoother(0.5)
    smooth(maps(0.0))
    broken = maps(1.0)
    broken["saliency_map"][0, :2] = np.nan, np.inf
    smooth(broken)
    after = smooth(maps(1.0))["saliency_map"]
    assert (after[0, :2] == 1).all()
    assert (after[1:] == 0.75).all()


def test_new_sizes_other_maps_and_resets_start_anew() -> None:
    smooth = Smoother(0.9)
    smooth(maps(0.0))
    assert (smooth(maps(1.0, (2, 2)))["saliency_map"] == 1).all()
    smooth({"other": np.zeros((2, 2), np.float32)})
    assert (smooth(maps(0.0, (2, 2)))["saliency_map"] == 0).all()
    smooth.reset()
    assert (smooth(maps(1.0, (2, 2)))["saliency_map"] == 1).all()


def test_off_means_off() -> None:
    given = maps(0.3)
    assert Smoother(0)(given) is given


@pytest.mark.parametrize("keep", [-0.1, 1.0, float("nan")])
def test_refused(keep: float) -> None:
    with pytest.raises(FastcamError, match="smoothing of"):
        Smoother(keep)
