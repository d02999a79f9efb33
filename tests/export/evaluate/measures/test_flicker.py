"""Flicker of maps whose change per frame is known."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import cv2
import numpy as np
import pytest
from fastcam_export.evaluate.measures.flicker import flicker


@pytest.fixture
def frames(tmp_path: Path) -> str:
    for k in range(12):
        cv2.imwrite(str(tmp_path / f"{k:02d}.png"), np.full((8, 8, 3), k, np.uint8))
    return str(tmp_path)


def test_a_still_map_does_not_flicker_and_a_blinking_one_does(frames: str) -> None:
    still = np.linspace(0, 1, 64, dtype=np.float32).reshape(8, 8)

    def maps_of(frame: np.ndarray) -> dict[str, np.ndarray]:
        return {"still": still, "blinking": still + (0.1 if frame[0, 0, 0] % 2 else 0.0)}

    found = flicker(frames, maps_of)
    assert found["still"].plain == 0
    assert found["still"].correlation == pytest.approx(1)
    assert found["blinking"].plain == pytest.approx(100 * 0.1 / still.std(), rel=1e-3)
    # Smoothing of 0.7 passes 0.3 / 1.7 of an alternating signal in the steady state.
    assert found["blinking"].smoothed < 0.35 * found["blinking"].plain
    assert found["blinking"].frames == 12


def test_a_frame_without_a_map_is_left_out(frames: str) -> None:
    """Its deviation is 0, so its change would be endless."""
    still = np.linspace(0, 1, 64, dtype=np.float32).reshape(8, 8)

    def maps_of(frame: np.ndarray) -> dict[str, np.ndarray]:
        return {"map": still * (frame[0, 0, 0] != 5), "never": 0 * still}

    found = flicker(frames, maps_of)
    assert list(found) == ["map"]
    assert found["map"].frames == 11
    assert found["map"].plain == pytest.approx(100 * still.mean() / still.std() / 10)


def test_no_more_frames_than_asked_for_are_read(frames: str) -> None:
    seen = []

    def maps_of(frame: np.ndarray) -> dict[str, np.ndarray]:
        seen.append(frame)
        return {"map": frame[..., 0].astype(np.float32)}

    flicker(frames, maps_of, most=5)
    assert len(seen) == 5


def test_an_interruption_leaves_what_was_measured(frames: str) -> None:
    random, found = np.random.default_rng(0), {}
    maps = [random.random((8, 8)).astype(np.float32) for _ in range(6)]
    following = iter(maps)

    def maps_of(frame: np.ndarray) -> dict[str, np.ndarray]:
        one = next(following, None)
        if one is None:
            raise KeyboardInterrupt
        return {"map": one}

    with pytest.raises(KeyboardInterrupt):
        flicker(frames, maps_of, found=found)
    by_hand = [100 * np.abs(b - a).mean() / b.std() for a, b in pairwise(maps)]
    assert found["map"].frames == 6
    assert found["map"].changes == pytest.approx(by_hand, rel=1e-4)
    assert found["map"].plain == pytest.approx(np.mean(by_hand), rel=1e-4)
