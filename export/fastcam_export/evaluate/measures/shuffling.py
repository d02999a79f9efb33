"""Copies of a file with weights shuffled from the head down: a map that shows what was learnt must change."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
import onnx
from fastcam_runtime.model.pruning import cut_file
from onnx import external_data_helper, numpy_helper

from .weights import Weights

STEPS = {"classifier": 0.0, "last quarter": 0.25, "last half": 0.5, "all": 1.0}
"""The share of the weight tensors that is shuffled besides the classifier, counted from the head."""
LAST = "last weights"
"""The name of the first step in files whose classifier cannot be told."""


class Shuffler:
    """Copies of one model, each with an order of its own.

    A weight tensor is an initializer or a constant of the network; see `Weights`. The values stay the same,
    so activations keep about their magnitude. The saliency branch is not changed.

    Args:
        model: It is changed while a copy is made, and as before afterwards.
    """

    def __init__(self, model: onnx.ModelProto) -> None:
        self._model = model
        self._weights = Weights.of(model)

    @property
    def has_weights(self) -> bool:
        """Whether there is anything to shuffle."""
        return bool(self._weights.last)

    @property
    def steps(self) -> dict[str, float]:
        """`STEPS`, with the name that is right for this file."""
        first = next(iter(STEPS))
        return {LAST if name == first and not self._weights.told else name: STEPS[name] for name in STEPS}

    def file(self, share: float, seed: int | Sequence[int]) -> bytes:
        """The bytes of a copy with the classifier and the last `share` of the weight tensors in random order.

        Raises:
            Exception: Any error of protobuf, which cannot write more than 2 GB.
        """
        chosen = self._last(share)
        originals = [(tensor, numpy_helper.to_array(tensor)) for tensor in chosen]
        _shuffle(chosen, seed)
        try:
            return bytes(self._model.SerializeToString())
        finally:
            for tensor, values in originals:
                tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))

    def _last(self, share: float) -> list[onnx.TensorProto]:
        every, last = self._weights.every, self._weights.last
        chosen = every[len(every) - round(share * len(every)) :]
        return [*chosen, *(one for one in last if all(one is not other for other in chosen))]


def load_whole(path: Path, maps: Collection[str]) -> onnx.ModelProto:
    """The model with its external weights in memory; of its saliency outputs only `maps`."""
    model = onnx.load_model_from_string(cut_file(path, maps))
    external_data_helper.load_external_data_for_model(model, str(path.resolve().parent))
    return model


def _shuffle(tensors: Sequence[onnx.TensorProto], seed: int | Sequence[int]) -> None:
    random = np.random.default_rng(seed)
    for tensor in tensors:
        values = numpy_helper.to_array(tensor)
        mixed = random.permutation(values.reshape(-1)).reshape(values.shape)
        tensor.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(mixed), tensor.name))
