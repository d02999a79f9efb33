"""The file under evaluation: its scores for many versions of a picture, and its maps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import onnxruntime
from fastcam_runtime import native
from fastcam_runtime.classes import probabilities, tells_classes
from fastcam_runtime.contract import ARGMAX, CLASS_INPUT, CLASS_OUTPUTS, output_names
from fastcam_runtime.errors import ModelError, ort_errors_as
from fastcam_runtime.image import Array, Geometry, Image
from fastcam_runtime.model.grafted import Model
from fastcam_runtime.model.session import quiet_options, start_session
from fastcam_runtime.preprocess import Preprocessor
from numpy.typing import NDArray

from .measures.baselines import Tensor

JUDGED = ("saliency_map", "cam", "fastcam")
"""The outputs to evaluate: those that should show what the network needs, by name in `contract.OUTPUTS`."""
_FREE_BATCH = 16
"""Batch size for networks with a free batch: larger ones only take more memory."""
_BATCH_PIXELS = _FREE_BATCH * 320 * 320
"""Large pictures come in smaller batches, which bounds the memory."""


class NoClassScores(ModelError):
    """The network gives no score for each class, as detectors and segmentations."""


@dataclass(frozen=True)
class FedPicture:
    """A picture as fed to the network."""

    tensor: Tensor
    """C×H×W in the network's own values."""
    picture: NDArray[np.uint8]
    """The same as colours, H×W×3 BGR or H×W gray."""
    geometry: Geometry


class Subject:
    """A grafted file, ready for evaluation.

    Args:
        path: The file.
        threads: Threads that share one operator; None for the default.
        name: What messages call the file; its path by default.

    Raises:
        ModelError: The file cannot be run, or has no map to judge.
    """

    def __init__(self, path: Path, threads: int | None = None, name: str | None = None) -> None:
        self.path = path
        self.name = name or str(path)
        self.threads = threads
        self.model = Model(path, threads=threads, provider="cpu")
        self.metadata = self.model.metadata
        self.words = tuple(word for word in JUDGED if word in self.model.words)
        """The outputs of `JUDGED` that the file has."""
        if not self.words:
            raise ModelError(
                f"{self.name} has none of {', '.join(JUDGED)}; export it with --outputs saliency_map"
            )
        self.class_words = tuple(word for word in self.words if word in CLASS_OUTPUTS)
        self._session = self.model.session(())
        self._map_session = self.model.session(self.words)
        image = next(v for v in self._session.get_inputs() if v.name == self.metadata.image.name)
        types = {"tensor(float16)": np.float16, "tensor(double)": np.float64, "tensor(uint8)": np.uint8}
        self._dtype = types.get(image.type, np.float32)
        self._batch = image.shape[0] if isinstance(image.shape[0], int) else None
        self._preprocess = Preprocessor(
            self.metadata.image, self.metadata.preprocess, self.metadata.resize, np.float32
        )
        scores = next(v for v in self._session.get_outputs() if v.name == self.metadata.scores)
        self._scores_shape = scores.shape

    def see(self, frame: Image) -> FedPicture:
        """Preprocess a frame for the network."""
        tensor, geometry = self._preprocess(frame)
        planar = tensor[0] if self.metadata.image.layout != "NHWC" else tensor[0].transpose(2, 0, 1)
        return FedPicture(planar.copy(), self._colours(planar), geometry)

    @property
    def session_threads(self) -> int:
        """The threads that share one operator."""
        return int(self._session.get_session_options().intra_op_num_threads)

    @property
    def takes_class(self) -> bool:
        """Whether one may choose the class of the class maps."""
        return self.model.class_input(self._map_session).there

    def probabilities(self, tensors: Iterable[Tensor]) -> NDArray[np.float64]:
        """The probability of every class for each of the tensors, N×classes.

        Only as many tensors as one run takes are in memory.

        Raises:
            NoClassScores: The network gives none.
        """
        found = []
        pixels = self.metadata.image.height * self.metadata.image.width
        size = self._batch or max(1, min(_FREE_BATCH, _BATCH_PIXELS // pixels))
        following = iter(tensors)
        while taken := list(islice(following, size)):
            part = np.stack(taken)
            scores = self.model.run(self._session, [self.metadata.scores], self._feed(part))[0]
            if not tells_classes(self._scores_shape, scores[0], self.metadata.scores_shape):
                raise NoClassScores(f"{self.name}: its output {self.metadata.scores!r} holds no class scores")
            found.append(scores.reshape(len(scores), -1)[: len(part)])
        rows = np.concatenate(found).astype(np.float64)
        return np.stack([probabilities(row, self.metadata.scores_are) for row in rows])

    @property
    def map_names(self) -> list[str]:
        """The outputs in the file of the evaluated maps."""
        return [output_names((word,), 0)[0] for word in self.words]

    def maps(self, tensor: Tensor, chosen: int = ARGMAX) -> dict[str, NDArray[np.float32]]:
        """The evaluated maps of one tensor by name, H×W each, for the class with the highest score."""
        return self._maps(self._map_session, tensor, chosen)

    def maps_with(self, data: bytes, tensor: Tensor, chosen: int) -> dict[str, NDArray[np.float32]]:
        """The same with a copy of the file that has other weights.

        Raises:
            ModelError: onnxruntime cannot run it.
        """
        options = quiet_options()
        options.intra_op_num_threads, options.inter_op_num_threads = self.session_threads, 1
        native.register(options)
        with ort_errors_as(ModelError, f"{self.name}: onnxruntime cannot run a copy with other weights"):
            session = start_session(data, options)
        return self._maps(session, tensor, chosen)

    def _maps(
        self, session: onnxruntime.InferenceSession, tensor: Tensor, chosen: int
    ) -> dict[str, NDArray[np.float32]]:
        feed = self._feed(tensor[None])
        if self.takes_class:
            feed[CLASS_INPUT] = np.full(self._batch or 1, chosen, np.int64)
        arrays = self.model.run(session, self.map_names, feed)
        return {
            word: np.asarray(array[0], np.float32) for word, array in zip(self.words, arrays, strict=True)
        }

    def _feed(self, tensors: Tensor) -> dict[str, Array]:
        missing = (self._batch or len(tensors)) - len(tensors)
        if missing:
            tensors = np.concatenate([tensors, np.zeros((missing, *tensors.shape[1:]), tensors.dtype)])
        if self.metadata.image.layout == "NHWC":
            tensors = tensors.transpose(0, 2, 3, 1)
        if self._dtype is np.uint8:
            tensors = np.clip(np.rint(tensors), 0, 255)
        return {self.metadata.image.name: np.ascontiguousarray(tensors, self._dtype)}

    def _colours(self, planar: Tensor) -> NDArray[np.uint8]:
        pre = self.metadata.preprocess
        values = planar * np.array(pre.std)[:, None, None] + np.array(pre.mean)[:, None, None]
        picture = np.clip(np.rint(values), 0, 255).astype(np.uint8).transpose(1, 2, 0)
        if pre.order == "GRAY":
            picture = picture[..., 0]
        elif pre.order == "RGB":
            picture = picture[..., ::-1]
        elif pre.order in ("RGBA", "BGRA"):
            picture = picture[..., [2, 1, 0]] if pre.order == "RGBA" else picture[..., :3]
        return np.ascontiguousarray(picture)
