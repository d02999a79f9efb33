"""The paper's two experiments with retraining, at a small size; the plan is in `protocol`.

    python -m benchmarks.quality.retrain --hours 2

Every finished cell is a line of JSON in the results' file. A stopped run continues with the next cell.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import nn

from ..paths import RESULTS
from .retraining import protocol
from .retraining.cells import WHOLE, Cell, Results, planned
from .retraining.imagenette import ARCHIVE, Photos, normalised, read_photos
from .retraining.kept import kept_by
from .retraining.small_resnet import behind, small_resnet, up_to
from .retraining.trained_maps import TrainedMaps
from .retraining.training import accuracy, train


class Experiment:
    """The photos, and for every seed the network that was trained on whole photos.

    Args:
        training: Photos to train on.
        validation: Photos to test with.
        folder: Where networks and maps are kept.
    """

    def __init__(self, training: Photos, validation: Photos, folder: Path) -> None:
        self._photos = {"train": training, "val": validation}
        self._folder = folder
        values = training.pictures.astype(np.float32) / 255
        mean, std = values.mean((0, 1, 2)), values.std((0, 1, 2))
        self._tensors = {part: normalised(photos, mean, std) for part, photos in self._photos.items()}
        self._classes = int(training.labels.max()) + 1

    def run(self, cell: Cell) -> float:
        """The accuracy of the network of a cell."""
        if cell.experiment == WHOLE:
            return self._accuracy(self.base(cell.seed), self._tensors["val"])
        return self._layer(cell) if cell.experiment == "layer" else self._input(cell)

    def base(self, seed: int) -> nn.Sequential:
        """The network trained on whole photos."""
        path = self._folder / f"base-{seed}.pt"
        torch.manual_seed(seed)
        network = small_resnet(self._classes)
        if path.exists():
            network.load_state_dict(torch.load(path, weights_only=True))
            return network.eval()
        self._train(network, self._tensors["train"], seed, protocol.EPOCHS, protocol.PEAK_RATE)
        path.parent.mkdir(parents=True, exist_ok=True)
        torch.save(network.state_dict(), path)
        return network

    def _input(self, cell: Cell) -> float:
        masked = {}
        for part, tensors in self._tensors.items():
            ranks = self._maps(cell.seed, part).of_input(cell.method)
            # 0 is the mean colour of the training photos.
            masked[part] = tensors * torch.from_numpy(kept_by(cell, ranks))[:, None]
        torch.manual_seed(cell.seed)
        network = small_resnet(self._classes)
        self._train(network, masked["train"], cell.seed, protocol.EPOCHS, protocol.PEAK_RATE)
        return self._accuracy(network, masked["val"])

    def _layer(self, cell: Cell) -> float:
        scale = int(cell.at)
        network = self.base(cell.seed)
        masked = {}
        for part, tensors in self._tensors.items():
            ranks = self._maps(cell.seed, part).of_scale(cell.method, scale)
            with torch.no_grad():
                activations = torch.cat([up_to(network, scale)(batch) for batch in tensors.split(256)])
            masked[part] = activations * torch.from_numpy(kept_by(cell, ranks))[:, None]
        rest = behind(network, scale)
        self._train(rest, masked["train"], cell.seed, protocol.TUNE_EPOCHS, protocol.TUNE_RATE)
        return self._accuracy(rest, masked["val"])

    def _maps(self, seed: int, part: str) -> TrainedMaps:
        place = self._folder / f"maps-{seed}-{part}"
        return TrainedMaps(
            self.base(seed),
            self._photos[part].pictures,
            self._tensors[part],
            place,
            seed + 1000 * (part == "val"),
        )

    def _train(self, network: nn.Module, tensors: torch.Tensor, seed: int, epochs: int, peak: float) -> None:
        labels = self._photos["train"].labels
        train(network, lambda chosen: tensors[chosen], labels, epochs=epochs, peak=peak, seed=seed)

    def _accuracy(self, network: nn.Module, tensors: torch.Tensor) -> float:
        return accuracy(network, lambda chosen: tensors[chosen], self._photos["val"].labels)


def run_cells(experiment: Experiment, cells: Iterable[Cell], results: Results, seconds: float) -> int:
    """Run the cells that are missing until the time is up; returns how many were run."""
    missing = [cell for cell in cells if results.accuracy(cell) is None]
    started = time.monotonic()
    for done, cell in enumerate(missing):
        if time.monotonic() - started > seconds:
            return done
        begun, processor = time.monotonic(), time.process_time()
        found = experiment.run(cell)
        results.add(
            cell, found, seconds=round(time.monotonic() - begun, 1),
            processor_seconds=round(time.process_time() - processor, 1),
        )  # fmt: skip
        left = (time.monotonic() - started) / (done + 1) * (len(missing) - done - 1)
        print(f"{cell}: {found:.4f} ({done + 1} of {len(missing)}, {left / 60:.0f} min left)", flush=True)
    return len(missing)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks.quality.retrain", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--hours", type=float, default=2, help="start no cell after this time (2)")
    parser.add_argument("--data", type=Path, default=ARCHIVE, metavar="ZIP", help="Imagenette at 64×64")
    parser.add_argument("--folder", type=Path, default=RESULTS / "retrain", help="networks, maps and results")
    parser.add_argument(
        "--seeds", type=int, nargs="+", default=protocol.SEEDS, choices=protocol.SEEDS, metavar="SEED",
        help="only these; processes with different seeds may share a folder (all)",
    )  # fmt: skip
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    experiment = Experiment(
        read_photos(options.data, "train", protocol.TRAIN_STRIDE), read_photos(options.data, "val"),
        options.folder / "cache",
    )  # fmt: skip
    results = Results(options.folder / "retrain.jsonl")
    run_cells(experiment, planned(options.seeds), results, 3600 * options.hours)
    return 0


if __name__ == "__main__":
    sys.exit(main())
