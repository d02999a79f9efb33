"""ReciproCAM of openvino_xai on the networks and pictures of the study; see `study_plan`.

    python -m benchmarks.quality.beside.reciprocam --resnet base-0.pt

It stands beside the study because openvino_xai needs an environment of its own; the first start makes it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import cv2
import numpy as np
from fastcam_export.evaluate.controls import Map
from fastcam_export.evaluate.measures.baselines import Tensor
from fastcam_export.evaluate.subject import FedPicture
from fastcam_runtime.errors import FastcamError

from ...compared.openvino_peer import Unavailable, make_environment
from .. import reference
from ..studied import PlainNetwork
from ..study_plan import RECIPROCAM
from .running import ScoresByMap, measure, scores_beside

_WORKER = Path(__file__).parents[2] / "compared" / "reciprocam_worker.py"


class ReciproCam:
    """A process that computes the map of the class with the highest score.

    Args:
        path: The plain network.
        folder: For its inputs and outputs.

    Raises:
        Unavailable: openvino_xai cannot be installed, or does not take this network.
    """

    def __init__(self, path: Path, folder: Path) -> None:
        self._source, self._target = folder / "input.npy", folder / "map.npy"
        self._process = subprocess.Popen(
            [make_environment(), _WORKER, path],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        self._answer()

    def __call__(self, tensor: Tensor) -> tuple[int, Map]:
        """The class and its map, as large as the network's input; `tensor` is C×H×W."""
        np.save(self._source, tensor[None])
        assert self._process.stdin is not None
        print(self._source, self._target, sep="\t", file=self._process.stdin, flush=True)
        chosen = int(self._answer())
        small = np.load(self._target).astype(np.float32) / 255
        large = cv2.resize(small, tensor.shape[:0:-1], interpolation=cv2.INTER_LINEAR)
        return chosen, np.asarray(large, np.float32)

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise Unavailable(f"its worker ended with code {self._process.wait()}")
        return line

    def __enter__(self) -> ReciproCam:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def compare(network: PlainNetwork, options: Namespace) -> ScoresByMap:
    """Insertion minus deletion of ReciproCAM and of `saliency_map`, picture by picture.

    Raises:
        FastcamError: openvino_xai cannot be had, or openvino sees another class than onnxruntime.
    """
    with tempfile.TemporaryDirectory() as folder, _opened(network.path, Path(folder)) as reciprocam:

        def others(seen: FedPicture, target: int) -> dict[str, Map]:
            chosen, saliency = reciprocam(seen.tensor)
            if chosen != target:
                raise FastcamError(f"openvino sees class {chosen}, onnxruntime {target}")
            return {RECIPROCAM: saliency}

        return scores_beside(network, network.subject(Path(folder), options.threads), options, others)


def _opened(path: Path, folder: Path) -> ReciproCam:
    try:
        return ReciproCam(path, folder)
    except Unavailable as error:
        raise FastcamError(f"no openvino_xai: {error}") from None


def main(arguments: Sequence[str] | None = None) -> int:
    return measure("reciprocam", __doc__, arguments, compare, reference.RECIPROCAM)


if __name__ == "__main__":
    sys.exit(main())
