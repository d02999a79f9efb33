"""Weights for networks without five scales. The plan was written before the run.

    python -m benchmarks.quality.beside.weight_candidates

The paper has weights for five scales only; the default elsewhere is `linear`. Against it: `equal`, and the
paper's prior, interpolated to the number of scales.

Networks: SqueezeNet 1.1 (four scales, its published weights) on imagenet200.zip. No file with real weights
of three or six scales was found, so the small ResNet of the retraining stands in for them: with three and
with six scales, trained on Imagenette as `retraining.protocol` says (seed 0), on its validation photos.

Score and order of the pictures are those of `study_plan`; the even pictures select, the odd ones confirm. A
weighting replaces the default if its interval excludes zero on at least two networks and it is worse on none.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import torch
from fastcam_export.method.weights import PRIOR
from fastcam_runtime.image import Image

from ...inputs.preprocessing import CAFFE, IMAGENETTE_MEAN, IMAGENETTE_STD
from ...paths import RESULTS
from .. import reference
from ..retraining import imagenette, protocol
from ..retraining.imagenette import normalised, read_photos
from ..retraining.small_resnet import small_resnet
from ..retraining.training import train
from ..scoring import areas, predicted
from ..studied import DATA, MODELS, PlainNetwork, resnet_on_imagenette
from ..study import pictures
from ..study_plan import DEFAULT_WEIGHTS

WIDTHS = {3: (8, 16, 32), 6: (8, 16, 32, 64, 128, 128)}
"""The channels of each scale of the networks that are trained here, by their number of scales."""


def interpolated_prior(scales: int) -> list[float]:
    """The paper's five weights at as many evenly spaced places."""
    places = np.linspace(0, len(PRIOR) - 1, scales)
    return [round(float(w), 4) for w in np.interp(places, np.arange(len(PRIOR)), PRIOR)]


def trained(scales: int, data: Path) -> torch.nn.Module:
    """The small ResNet with another number of scales, trained on whole photos."""
    photos = read_photos(data / imagenette.ARCHIVE.name, "train", protocol.TRAIN_STRIDE)
    tensors = normalised(photos, IMAGENETTE_MEAN, IMAGENETTE_STD)
    torch.manual_seed(0)
    network = small_resnet(imagenette.CLASSES, WIDTHS[scales])
    train(network, lambda chosen: tensors[chosen], photos.labels,
          epochs=protocol.EPOCHS, peak=protocol.PEAK_RATE, seed=0)  # fmt: skip
    return network


def compare(
    network: PlainNetwork, scales: int, frames: Iterable[Image], threads: int
) -> dict[str, list[float]]:
    """For each weighting, insertion minus deletion of every picture."""
    weightings: dict[str, str | list[float]] = {
        DEFAULT_WEIGHTS: DEFAULT_WEIGHTS,
        "equal": "equal",
        "interpolated prior": interpolated_prior(scales),
    }
    with tempfile.TemporaryDirectory() as name:
        subjects = {
            weighting: network.subject(Path(name), threads, weights=weights)
            for weighting, weights in weightings.items()
        }
    scorer = subjects[DEFAULT_WEIGHTS]
    found: dict[str, list[float]] = {name: [] for name in weightings}
    for frame in frames:
        tensor = scorer.see(frame).tensor
        maps = {name: one.maps(tensor)["saliency_map"] for name, one in subjects.items()}
        for name, (insertion, deletion) in areas(scorer, tensor, predicted(scorer, tensor), maps).items():
            found[name].append(round(insertion - deletion, 4))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks.quality.beside.weight_candidates", description=__doc__.partition("\n")[0]
    )
    squeezenet = MODELS / "squeezenet1_1-fp16.onnx"
    parser.add_argument("--squeezenet", type=Path, default=squeezenet, metavar="FILE")
    parser.add_argument("--data", type=Path, default=DATA, metavar="FOLDER", help="with the archives")
    parser.add_argument("--pictures", type=int, default=200, metavar="N", help="per network (200)")
    parser.add_argument("--folder", type=Path, default=RESULTS / "quality", help="for the results")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        networks = {4: PlainNetwork("SqueezeNet 1.1", options.squeezenet, CAFFE)}
        for scales in WIDTHS:
            path = Path(folder) / f"small-resnet-{scales}.onnx"
            name = f"small ResNet of {scales} scales"
            networks[scales] = resnet_on_imagenette(name, trained(scales, options.data), path)
        for scales, network in sorted(networks.items()):
            frames = (frame for _, frame in pictures(options.data, network, options.pictures))
            scores = compare(network, scales, frames, options.threads)
            results.append({"network": network.name, "scales": scales, "scores": scores})
            print(network.name, {name: round(float(np.mean(values)), 3) for name, values in scores.items()})
    options.folder.mkdir(parents=True, exist_ok=True)
    (options.folder / reference.WEIGHTS).write_text(json.dumps(results) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
