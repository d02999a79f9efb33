"""How much a map changes from frame to frame of a video, with and without smoothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from fastcam_runtime.draw.smoothing import DEFAULT, Smoother
from fastcam_runtime.image import Image
from fastcam_runtime.sources.registry import open_source
from numpy.typing import NDArray

MOST_FRAMES = 120


@dataclass(frozen=True)
class Flicker:
    """The mean change of a pixel per frame, in percent of the map's standard deviation."""

    plain: float
    smoothed: float
    """The same with the default smoothing."""
    correlation: float
    """Correlation of the smoothed map with the plain map, averaged over the frames."""
    frames: int
    """Those measured; a frame whose map is constant is left out."""
    changes: tuple[float, ...] = ()
    """The values whose mean is `plain`, frame by frame from the second one."""
    smoothed_changes: tuple[float, ...] = ()


def flicker(
    uri: str,
    maps_of: Callable[[Image], dict[str, NDArray[np.float32]]],
    most: int = MOST_FRAMES,
    found: dict[str, Flicker] | None = None,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, Flicker]:
    """The flicker of each map over the first frames of a video; `maps_of` returns a frame's maps by name.

    `found` is filled frame by frame and returned, so an interruption leaves what was measured. `tell` gets
    the number of frames done and their total.

    Raises:
        SourceError: The video cannot be read.
    """
    found = {} if found is None else found
    smoother = Smoother(DEFAULT)
    frames: list[dict[str, NDArray[np.float32]]] = []
    sums: dict[str, list[tuple[float, float, float]]] = {}
    with open_source(uri) as source:
        for number in range(most):
            tell(number, most)
            frame = source.read()
            if frame is None:
                break
            plain = maps_of(frame.image)
            smooth = {name: values.copy() for name, values in smoother(plain).items()}
            if frames:
                before, before_smooth = frames
                for name, values in plain.items():
                    if values.min() == values.max():
                        continue  # a constant map has no deviation to measure by
                    deviation = float(values.std()) / 100
                    sums.setdefault(name, []).append(
                        (
                            float(np.abs(values - before[name]).mean()) / deviation,
                            float(np.abs(smooth[name] - before_smooth[name]).mean()) / deviation,
                            _correlation(values, smooth[name]),
                        )
                    )
                    found[name] = _summary(sums[name])
            frames = [plain, smooth]
    return found


def _summary(rows: list[tuple[float, float, float]]) -> Flicker:
    plain, smoothed, correlations = zip(*rows, strict=True)
    means = float(np.mean(plain)), float(np.mean(smoothed)), float(np.mean(correlations))
    return Flicker(*means, len(rows) + 1, plain, smoothed)


def _correlation(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    a, b = (values.astype(np.float64) - values.mean(dtype=np.float64) for values in (one, other))
    size = np.sqrt((a * a).sum() * (b * b).sum())
    return float((a * b).sum() / size) if size else 0.0
