"""Whether the first scale should be blurred against flicker. The plan was written before the run.

    python -m benchmarks.quality.first_scale --video cars.mp4

Measured: the change per frame of each scale's map, of `saliency_map`, and of the same map with the first
scale blurred as in `study_plan`. A blur is worth something only if the map flickers less with it than with
the default smoothing of videos, which costs no detail.
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
from fastcam_export.evaluate.measures.flicker import flicker
from fastcam_models import default_model
from fastcam_runtime import Explainer
from fastcam_runtime.contract import MAP, SCALE_PREFIX
from fastcam_runtime.image import Image
from numpy.typing import NDArray

from ..paths import RESULTS
from . import reference, study_plan
from .studied import DATA


def first_scale_flicker(video: Path, threads: int) -> dict[str, Any]:
    """The flicker of each scale's map, of their combination, and of that with the first scale blurred."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scales.onnx"
        fastcam_export.export(default_model(), path, outputs=["saliency_map", "scales"])
        explain = Explainer(path, threads=threads)
        weights = [tap.weight for tap in explain.metadata.taps]

        def maps_of(frame: Image) -> dict[str, NDArray[np.float32]]:
            maps = explain(frame).maps
            scales = [maps[f"{SCALE_PREFIX}{number + 1}"] for number in range(len(weights))]
            soft = [cv2.GaussianBlur(scales[0], (0, 0), study_plan.FIRST_SCALE_BLUR), *scales[1:]]
            size = maps[MAP].shape[::-1]
            large = [cv2.resize(scale, size, interpolation=cv2.INTER_LINEAR) for scale in soft]
            mean = np.asarray(np.average(large, axis=0, weights=weights), np.float32)
            named = {f"scale {number + 1}": scale for number, scale in enumerate(scales)}
            return {"saliency_map": maps[MAP], "first scale blurred": mean, **named}

        return {name: asdict(one) for name, one in flicker(str(video), maps_of).items()}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks.quality.first_scale", description=__doc__.partition("\n")[0]
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
