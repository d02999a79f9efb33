"""Whether the first scale should be smoothed on its own, because it carries most of the flicker.

    python -m benchmarks.quality.beside.first_scale --video cars.mp4

Two ways: its map blurred as in `study_plan`, or smoothed over time as `fastcam run` does with the whole map
of a video. Measured: the change per frame of each scale's map, of `saliency_map` and of both candidates, and
how well each resembles the plain `saliency_map`. The rule was fixed before the run: a candidate is adopted
only if it flickers less than `saliency_map` with the default smoothing, and resembles the plain map more.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import cv2
import fastcam_export
import numpy as np
from fastcam_export.evaluate.controls import Map
from fastcam_export.evaluate.measures.flicker import Flicker, flicker
from fastcam_models import default_model
from fastcam_runtime import Explainer
from fastcam_runtime.contract import MAP, SCALE_PREFIX
from fastcam_runtime.draw.smoothing import DEFAULT, Smoother
from fastcam_runtime.image import Image

from ...paths import RESULTS
from .. import reference, study_plan
from ..our_maps import weighted_mean
from ..studied import DATA
from ..study_plan import BLURRED, SMOOTHED


def first_scale_flicker(video: Path, threads: int) -> dict[str, Any]:
    """The flicker of each scale's map, of their combination, and of that with the first scale smoothed.

    `likeness` is the mean correlation with the plain `saliency_map`, for the candidates only.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scales.onnx"
        fastcam_export.export(default_model(), path, outputs=["saliency_map", "scales"])
        explain = Explainer(path, threads=threads)
        weights = [tap.weight for tap in explain.metadata.taps]
        over_time = Smoother(DEFAULT)
        likeness: dict[str, list[float]] = {BLURRED: [], SMOOTHED: []}

        def maps_of(frame: Image) -> dict[str, Map]:
            maps = explain(frame).maps
            first, *others = (maps[f"{SCALE_PREFIX}{number + 1}"] for number in range(len(weights)))
            candidates = {
                BLURRED: cv2.GaussianBlur(first, (0, 0), study_plan.FIRST_SCALE_BLUR),
                SMOOTHED: over_time({"first": first})["first"],
            }
            combined = {
                name: weighted_mean([one, *others], weights, maps[MAP].shape)
                for name, one in candidates.items()
            }
            for name, values in combined.items():
                likeness[name].append(float(np.corrcoef(values.ravel(), maps[MAP].ravel())[0, 1]))
            named = {f"scale {number + 1}": scale for number, scale in enumerate((first, *others))}
            return {"saliency_map": maps[MAP], **combined, **named}

        found = {name: _without_frames(one) for name, one in flicker(str(video), maps_of).items()}
    for name, values in likeness.items():
        found[name]["likeness"] = float(np.mean(values))
    return found


def _without_frames(one: Flicker) -> dict[str, Any]:
    return {key: value for key, value in asdict(one).items() if not isinstance(value, tuple)}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks.quality.beside.first_scale", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--video", type=Path, default=DATA.parent / "video" / "cars.mp4")
    parser.add_argument("--folder", type=Path, default=RESULTS / "quality", help="for the results")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args(arguments)
    results = first_scale_flicker(options.video, options.threads)
    options.folder.mkdir(parents=True, exist_ok=True)
    (options.folder / reference.FIRST_SCALE).write_text(json.dumps(results) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
