"""Maps of a network of the experiment, computed by the exported file, ranked and cached on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import fastcam_export
import numpy as np
import onnxruntime as ort
import torch
from fastcam_export.evaluate.controls import CONTROLS
from fastcam_export.evaluate.measures.masks import ranking
from fastcam_runtime.contract import CAM, FASTCAM, MAP, scale_output
from numpy.typing import NDArray
from torch import nn

from . import protocol

Ranks = NDArray[np.uint16]
"""The place of every pixel within its map, N×H×W: 0 for the most salient."""
_BATCH = 64

_GRAFTS: dict[str, tuple[str, dict[str, str]]] = {
    "smoe prior": (MAP, {}),
    "smoe linear": (MAP, {"weights": "linear"}),
    "smoe equal": (MAP, {"weights": "equal"}),
    "std": (MAP, {"statistic": "std"}),
    "mean": (MAP, {"statistic": "mean"}),
    "truncnormal_entropy": (MAP, {"statistic": "truncnormal_entropy"}),
    "Grad-CAM": (CAM, {"outputs": "cam", "cam": "gradcam"}),
    "Grad-CAM++": (CAM, {"outputs": "cam", "cam": "gradcam++"}),
    "smoe × Grad-CAM": (FASTCAM, {"outputs": "fastcam", "cam": "gradcam"}),
    "smoe × Grad-CAM++": (FASTCAM, {"outputs": "fastcam", "cam": "gradcam++"}),
}
"""The methods that a file computes: its output, and the options of the export."""


class TrainedMaps:
    """The maps of one network on some photos.

    Args:
        network: Trained, in evaluation mode.
        pictures: N×H×W×3 uint8 RGB.
        tensors: The same as network inputs, N×3×H×W.
        folder: The cache of the maps, so that a continued run need not compute them again.
        seed: The seed of the random maps and of SmoothGrad's noise.
    """

    def __init__(
        self, network: nn.Module, pictures: NDArray[np.uint8], tensors: torch.Tensor, folder: Path, seed: int
    ) -> None:
        self._network, self._pictures, self._tensors = network, pictures, tensors
        self._folder, self._seed = folder, seed

    def of_input(self, method: str) -> Ranks:
        """The ranks of all pixels under a method of the experiment `input`, N×H×W."""
        if method in CONTROLS:
            return self._kept(method, lambda: self._control(method))
        if method == protocol.SMOOTHGRAD:
            return self._kept("smoothgrad2", self._smoothgrad)
        output, options = _GRAFTS[method]
        return self._kept(method, lambda: _ranks(maps for (maps,) in self._run([output], **options)))

    def of_scale(self, statistic: str, scale: int) -> Ranks:
        """The ranks of the pixels of one scale, counted from 1, under a statistic or at random."""
        if statistic == protocol.RANDOM:
            side = protocol.SIZE >> (scale - 1)
            noise = np.random.default_rng([self._seed, scale]).random((len(self._pictures), side, side))
            return ranking(noise).astype(np.uint16)
        places = {k: self._place(f"{statistic} {k}") for k in range(1, len(protocol.WIDTHS) + 1)}
        if not places[scale].exists():
            # One run of the network serves all scales.
            names = [scale_output(k) for k in places]
            batches = list(self._run(names, outputs="scales", statistic=statistic))
            for number, place in enumerate(places.values()):
                _save(place, _ranks(maps[number] for maps in batches))
        ranks: Ranks = np.load(places[scale])
        return ranks

    def _place(self, name: str) -> Path:
        return self._folder / f"{name.replace(' × ', '_by_').replace(' ', '_')}.npy"

    def _kept(self, name: str, compute: Callable[[], Ranks]) -> Ranks:
        place = self._place(name)
        if not place.exists():
            _save(place, compute())
        ranks: Ranks = np.load(place)
        return ranks

    def _control(self, name: str) -> Ranks:
        make = CONTROLS[name]
        seeds = np.random.default_rng(self._seed).integers(1 << 32, size=len(self._pictures))
        maps = [
            make(np.ascontiguousarray(p[:, :, ::-1]), int(s))
            for p, s in zip(self._pictures, seeds, strict=True)
        ]
        return ranking(np.stack(maps)).astype(np.uint16)

    def _run(self, names: list[str], **options: Any) -> Iterator[list[NDArray[np.float32]]]:
        """The outputs `names` in batches, from the file that an export with `options` makes."""
        example = torch.zeros(_BATCH, *self._tensors.shape[1:])
        file = fastcam_export.graft(self._network, example=example, **options)
        settings = ort.SessionOptions()
        settings.intra_op_num_threads = torch.get_num_threads()
        session = ort.InferenceSession(file.SerializeToString(), settings, providers=["CPUExecutionProvider"])
        image = session.get_inputs()[0].name
        for batch in self._tensors.split(_BATCH):
            padded = torch.cat([batch, batch.new_zeros(_BATCH - len(batch), *batch.shape[1:])])
            yield [maps[: len(batch)] for maps in session.run(names, {image: padded.numpy()})]

    def _smoothgrad(self) -> Ranks:
        """The mean of the squared gradients of the predicted class, over noisy copies of the photo."""
        torch.manual_seed(self._seed)
        spread = protocol.SMOOTHGRAD_NOISE * float(self._tensors.max() - self._tensors.min())
        parts = []
        for batch in self._tensors.split(_BATCH):
            with torch.no_grad():
                predicted = self._network(batch).argmax(1)
            squares = torch.zeros_like(batch)
            for _ in range(protocol.SMOOTHGRAD_SAMPLES):
                noisy = (batch + spread * torch.randn_like(batch)).requires_grad_()
                chosen = self._network(noisy).gather(1, predicted[:, None]).sum()
                squares += torch.autograd.grad(chosen, noisy)[0] ** 2
            parts.append(ranking(squares.sum(1).numpy()).astype(np.uint16))
        return np.concatenate(parts)


def _save(place: Path, ranks: Ranks) -> None:
    """Write atomically: a run may be stopped at any time."""
    place.parent.mkdir(parents=True, exist_ok=True)
    partial = place.with_suffix(".partial.npy")
    np.save(partial, ranks)
    partial.replace(place)


def _ranks(batches: Iterable[NDArray[np.float32]]) -> Ranks:
    return np.concatenate([ranking(maps).astype(np.uint16) for maps in batches])
