"""Evaluations with made-up figures, for tests of the reports."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from fastcam_export.evaluate.controls import CONTROLS
from fastcam_export.evaluate.metrics import SHOWN
from fastcam_export.evaluate.results import Evaluation, PictureResult

MAPS = ("saliency_map", "cam", "fastcam")


def evaluation(
    count: int, levels: Mapping[str, float] | None = None, classes: float | None = None
) -> Evaluation:
    """Pictures with all figures of the table: random ones around 0.5, or around the level of the map.

    `classes` is the correlation of the class maps with those of another class.
    """
    level = levels or {}
    random = np.random.default_rng(0)
    pictures = [
        PictureResult(
            f"{k}.jpg", "cat", 0.9,
            {
                name: {metric: level.get(name, 0.5) + 0.1 * random.standard_normal() for metric in SHOWN}
                for name in (*MAPS, *CONTROLS)
            },
            dict.fromkeys(MAPS, 0.5),
            {} if classes is None else dict.fromkeys(MAPS[1:], classes),
        )
        for k in range(count)
    ]  # fmt: skip
    return Evaluation("m.onnx", {"pictures": count}, (*MAPS, *CONTROLS), MAPS, pictures)
