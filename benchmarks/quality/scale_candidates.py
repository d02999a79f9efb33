"""Two candidates for a better map that the study's networks cannot show. The plan was written before the run.

    python -m benchmarks.quality.scale_candidates --squeezenet squeezenet.onnx --video cars.mp4

Weights for a network without five scales: SqueezeNet 1.1 has four. The default there is `linear`; against it
`equal` and the paper's prior, interpolated to four values. Score and pictures are those of `study_plan`; the
even pictures select, the odd ones confirm.

Flicker of the first scale: the change per frame of each scale's map, of `saliency_map`, and of the same map
with the first scale blurred as in `study_plan`. A blur is worth something only if the map flickers less with
it than with the default smoothing of videos, which costs no detail.
"""

from __future__ import annotations

import argparse
import functools
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
from fastcam_export.evaluate.baselines import blurred
from fastcam_export.evaluate.flicker import flicker
from fastcam_export.evaluate.masks import ranking
from fastcam_export.evaluate.perturbation import area, curves
from fastcam_export.evaluate.subject import Subject
from fastcam_export.method.weights import PRIOR
from fastcam_models import default_model
from fastcam_runtime import Explainer
from fastcam_runtime.contract import MAP, SCALE_PREFIX
from fastcam_runtime.image import Image
from numpy.typing import NDArray

from ..paths import RESULTS
from . import reference, study_plan
from .studied import DATA
from .study import pictures
from .study_tables import DEFAULT_WEIGHTS

CAFFE = {"order": "BGR", "mean": [103.939, 116.779, 123.68], "std": [1, 1, 1]}
"""How SqueezeNet 1.1 of Caffe takes its pictures."""


def interpolated_prior(scales: int) -> list[float]:
    """The paper's five weights at as many evenly spaced places."""
    places = np.linspace(0, len(PRIOR) - 1, scales)
    return [round(float(w), 4) for w in np.interp(places, np.arange(len(PRIOR)), PRIOR)]


def compare_weights(network: Path, data: Path, most: int, threads: int) -> dict[str, list[float]]:
    """For each weighting, insertion minus deletion of every picture."""
    weightings: dict[str, str | list[float]] = {
        DEFAULT_WEIGHTS: DEFAULT_WEIGHTS,
        "equal": "equal",
        "interpolated prior": interpolated_prior(4),
    }
    with tempfile.TemporaryDirectory() as folder:
        subjects = {}
        for name, weights in weightings.items():
            path = Path(folder) / f"{name}.onnx"
            fastcam_export.export(network, path, weights=weights, preprocess=CAFFE)
            subjects[name] = Subject(path, threads)
        found: dict[str, list[float]] = {name: [] for name in weightings}
        scorer = subjects[DEFAULT_WEIGHTS]
        for _, frame in pictures(data / "imagenet200.zip", "", most):
            seen = scorer.see(frame)
            target = int(scorer.probabilities([seen.tensor])[0].argmax())
            ranks = {name: ranking(one.maps(seen.tensor)["saliency_map"]) for name, one in subjects.items()}
            score = functools.partial(_probability, scorer, target)
            for name, (insertion, deletion) in curves(
                seen.tensor, blurred(seen.tensor), ranks, score
            ).items():
                found[name].append(round(area(insertion) - area(deletion), 4))
    return found


def _probability(scorer: Subject, target: int, tensors: Sequence[NDArray[np.float32]]) -> NDArray[np.float64]:
    return scorer.probabilities(tensors)[:, target]


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
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    models, videos = DATA.parent / "models", DATA.parent / "video"
    parser.add_argument("--squeezenet", type=Path, default=models / "squeezenet1_1-fp16.onnx")
    parser.add_argument("--video", type=Path, default=videos / "cars.mp4")
    parser.add_argument("--data", type=Path, default=DATA, metavar="FOLDER", help="with the archives")
    parser.add_argument("--pictures", type=int, default=100, metavar="N", help="for the weights (100)")
    parser.add_argument("--folder", type=Path, default=RESULTS / "quality", help="for the results")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args(arguments)
    results = {
        "weights": compare_weights(options.squeezenet, options.data, options.pictures, options.threads),
        "flicker": first_scale_flicker(options.video, options.threads),
    }
    options.folder.mkdir(parents=True, exist_ok=True)
    (options.folder / reference.SCALES).write_text(json.dumps(results) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
