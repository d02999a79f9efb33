"""One frame in, one explanation out."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import onnxruntime as ort

from . import contract
from .classes import ClassFinder, class_count, label_of, one_for_each, probability, tells_classes
from .detect.detections import Detection, Threshold, detect
from .errors import FastcamError, ModelError
from .explanation import DETECT, Explanation, InputTensor, Maps, item_of
from .image import Array, Geometry, Image
from .limits import check_picture
from .model.grafted import Model
from .model.session import open_cut
from .prepared.cache import open_cached
from .preprocess import IMAGE_TYPES, Preprocessor

_TENSORS = 3
"""Input tensors in use at the same time: one in the network, one queued, one being filled."""


class Explainer:
    """A grafted model, ready for frames.

    One thread at a time may call it; another one may `preprocess` the next frames meanwhile.

    Args:
        path: A file made by `fastcam export` (.onnx, or .ort converted from it).
        threads: Threads for one frame; by default the physical cores, four at most.
        provider: `auto`, `cpu`, `cuda`…: see `fastcam_runtime.model.providers`.
        outputs: Only these maps are computed: `["saliency_map", "cam"]`. None: all that the file has.
        compiled: Use the compiled kernels if they were built.
        threshold: Which detections of a detector to keep.
        cache: Keep the file as prepared for this device, for the next start; see `prepared.cache`.

    Raises:
        ModelError: The file is missing, damaged or not grafted, or lacks one of `outputs`.

    Example:
        >>> import cv2
        >>> explain = Explainer("model-fastcam.onnx")
        >>> explanation = explain(cv2.imread("photo.jpg"))
        >>> explanation.label, explanation.maps["saliency_map"].shape
        ('Egyptian cat', (224, 224))
    """

    def __init__(
        self,
        path: str | Path,
        threads: int | None = None,
        provider: str = "auto",
        outputs: Iterable[str] | None = None,
        *,
        compiled: bool = True,
        threshold: Threshold | None = None,
        cache: bool = True,
    ) -> None:
        if not isinstance(path, str | os.PathLike):
            raise ModelError(f"the path of a model is a text or a Path, not {type(path).__name__}")
        opener = open_cached if cache else open_cut
        model = Model(Path(path), threads=threads, provider=provider, compiled=compiled, opener=opener)
        self._set_up(model, outputs)
        self.threshold = threshold or Threshold()

    @classmethod
    def of(cls, model: Model, outputs: Iterable[str] | None = None) -> Explainer:
        """An explainer for a model that is loaded already."""
        explainer = cls.__new__(cls)
        explainer._set_up(model, outputs)
        return explainer

    def _set_up(self, model: Model, outputs: Iterable[str] | None) -> None:
        self.model = model
        self.metadata = model.metadata
        self.threshold = Threshold()
        head = self.metadata.detector
        answers = (self.metadata.scores, *(head.outputs if head is not None else ()))
        self._answers = tuple(dict.fromkeys(answers))
        self.outputs = model.words if outputs is None else contract.words_of(outputs)
        session = model.session(self.outputs)
        image = model.image_input(session)
        self._batch: int | None = next((n for n in image.shape[:1] if isinstance(n, int)), None)
        size = self.metadata.image
        check_picture(f"{model.path}: its input {size.name!r}", self._batch or 1, size.height, size.width)
        self._preprocessor = Preprocessor(
            self.metadata.image,
            self.metadata.preprocess,
            self.metadata.resize,
            IMAGE_TYPES[image.type],
            self._batch or 1,
            tensors=_TENSORS,
        )
        scores = next(value for value in session.get_outputs() if value.name == self.metadata.scores)
        self._scores_shape = scores.shape
        self._find_class = ClassFinder(self.labels, str(model.path))
        stated = self.metadata.scores_shape
        shape = scores.shape if stated is None else (None, *stated)
        count = class_count(shape) if head is None else head.classes
        if count is not None:
            self._find_class.set_count(count)

    def __repr__(self) -> str:
        size = self.metadata.image
        maps = ", ".join(self.outputs) or "no maps"
        return f"<Explainer: {self.model.path}; {size.height}×{size.width}; {maps}>"

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the classes; empty in a file without."""
        return self.metadata.labels

    def __call__(self, frame: Image) -> Explanation:
        """Explain the class with the highest score.

        Args:
            frame: uint8, H×W×3 BGR as OpenCV reads it, H×W grey or H×W×4 BGRA.
        """
        return self.explain(frame)[0]

    def preprocess(self, frame: Image) -> InputTensor:
        """The frame as the network's input, for `explain`. The third call after this one overwrites it."""
        started = time.perf_counter()
        tensor, geometry = self._preprocessor(frame)
        return InputTensor(tensor, geometry, 1e3 * (time.perf_counter() - started))

    def explain(
        self,
        frame: Image | InputTensor,
        classes: Sequence[int | str] | int | str | None = None,
        outputs: Sequence[str] | None = None,
    ) -> list[Explanation]:
        """One explanation per requested class.

        Args:
            frame: As in a plain call, or the result of `preprocess`.
            classes: Indices, labels or unique parts of labels, or one of them; None for the class with the
                highest score.
            outputs: The maps for this frame only, `()` for none. Each new combination opens another
                session; the last few are kept.

        Raises:
            ClassError: No such class; nothing was run.
            ModelError: Classes were requested, but the file has no class maps.
        """
        wanted = self.outputs if outputs is None else contract.words_of(outputs)
        if isinstance(classes, int | np.integer | str):
            classes = [classes]
        indices = None if classes is None else [self.class_index(choice) for choice in classes]
        session = self.model.session(wanted)
        tensor = frame if isinstance(frame, InputTensor) else self.preprocess(frame)
        started = time.perf_counter()
        results = self._run(session, wanted, tensor, indices)
        taken = {"preprocess": tensor.milliseconds, "inference": 1e3 * (time.perf_counter() - started)}
        timings = {stage: milliseconds / max(len(results), 1) for stage, milliseconds in taken.items()}
        shown = None if isinstance(frame, InputTensor) else frame
        asked = [None] * len(results) if indices is None else indices
        return [
            self._explanation(result, index, timings, tensor.geometry, shown)
            for result, index in zip(results, asked, strict=True)
        ]

    def batch(
        self,
        frames: Sequence[Image] | Array,
        classes: Sequence[int | str] | int | str | None = None,
        outputs: Sequence[str] | None = None,
    ) -> list[Explanation]:
        """One explanation per frame, from one run of the network.

        Args:
            frames: A list of frames of any sizes, or N×H×W×3.
            classes: One for each frame, or one for all; None for the one with the highest score in each.
            outputs: As in `explain`.

        Raises:
            ModelError: The file takes another number of pictures at a time.
            FastcamError: There is not one class for each frame.
        """
        frames = list(frames)
        if not frames:
            return []
        if self._batch not in (None, len(frames)):
            raise ModelError(
                f"{self.model.path} has a fixed batch of {self._batch}, not {len(frames)}: call it once per "
                "frame, or export it with a free batch"
            )
        wanted = self.outputs if outputs is None else contract.words_of(outputs)
        indices = [
            None if choice is None else self.class_index(choice)
            for choice in one_for_each(classes, len(frames))
        ]
        session = self.model.session(wanted)
        inputs = [replace(made, values=made.values[:1].copy()) for made in map(self.preprocess, frames)]
        started = time.perf_counter()
        names = [*self._answers, *self.model.output_names(wanted)]
        feed = {self.metadata.image.name: np.concatenate([made.values for made in inputs])}
        if self.model.class_input(session).there:
            chosen = [contract.ARGMAX if index is None else index for index in indices]
            feed[contract.CLASS_INPUT] = np.array(chosen, np.int64)
        arrays = self.model.run(session, names, feed)
        each = 1e3 * (time.perf_counter() - started) / len(frames)
        items = [self._item(names, arrays, i) for i in range(len(frames))]
        timings = [{"preprocess": made.milliseconds, "inference": each} for made in inputs]
        geometries = [made.geometry for made in inputs]
        return list(map(self._explanation, items, indices, timings, geometries, frames))

    def class_index(self, choice: int | str) -> int:
        """The class that `choice` names, checked before anything runs.

        Raises:
            ClassError: There is no such class, or several fit.
            ModelError: The file has no class maps.
        """
        if not self.model.has_class_maps:
            raise ModelError(f"no class can be chosen: {self.model.lacks('class maps', 'cam', 'fastcam')}")
        return self._find_class(choice)

    def _run(
        self, session: ort.InferenceSession, words: Sequence[str], fed: InputTensor, classes: list[int] | None
    ) -> list[dict[str, Array]]:
        """The outputs by name, without the batch dimension: one dictionary per class."""
        names, tensor = [*self._answers, *self.model.output_names(words)], fed.values
        feed: dict[str, Any] = {self.metadata.image.name: tensor}
        takes = self.model.class_input(session)
        if takes.box:
            feed[contract.BOX_INPUT] = np.full(len(tensor), fed.row, np.int64)
        if not takes.there:
            if classes is not None and not set(contract.CLASS_OUTPUTS).isdisjoint(words):
                raise ModelError(
                    f"{self.model.path}: no class can be chosen: a tool removed the input "
                    f"{contract.CLASS_INPUT!r} after the export; use that tool before the export"
                )
            results = [self._item(names, self.model.run(session, names, feed))]
            return results * (1 if classes is None else len(classes))
        classes = [contract.ARGMAX] if classes is None else classes
        if len(classes) > 1 and (takes.any_classes or self._batch is None):
            if not takes.any_classes:
                feed[self.metadata.image.name] = np.repeat(tensor, len(classes), axis=0)
            feed[contract.CLASS_INPUT] = np.array(classes, np.int64)
            arrays = self.model.run(session, names, feed)
            # Outputs that do not depend on the class have one item only.
            return [self._item(names, arrays, i) for i in range(len(classes))]
        results = []
        for index in classes:
            feed[contract.CLASS_INPUT] = np.full(tensor.shape[0], index, np.int64)
            results.append(self._item(names, self.model.run(session, names, feed)))
        return results

    def _item(self, names: Sequence[str], arrays: Sequence[Array], index: int = 0) -> dict[str, Array]:
        return item_of(names, arrays, index, self._answers if self.metadata.detector is not None else ())

    def _explanation(
        self,
        result: dict[str, Array],
        index: int | None,
        timings: dict[str, float],
        geometry: Geometry,
        frame: Image | None,
    ) -> Explanation:
        maps = {name: array for name, array in result.items() if name not in self._answers}
        logits = result[self.metadata.scores]
        score = None
        detections: tuple[Detection, ...] = ()
        if self.metadata.detector is not None:
            started = time.perf_counter()
            detections = detect(self.metadata.detector, result, geometry, self.labels, self.threshold)
            timings = {**timings, DETECT: 1e3 * (time.perf_counter() - started)}
            best = next((found for found in detections if index in (None, found.index)), None)
            index, score = (best.index, best.score) if best is not None else (index, None)
        elif tells_classes(self._scores_shape, logits, self.metadata.scores_shape):
            logits = logits.reshape(-1)
            self._find_class.set_count(logits.size)
            index = int(logits.argmax()) if index is None else index
            if index >= logits.size:
                raise FastcamError(f"no class {index}; the network has {logits.size}")
            score = probability(logits, index, self.metadata.scores_are)
        return Explanation(
            logits=logits,
            index=index,
            label="" if index is None else label_of(index, self.labels),
            score=score,
            maps=Maps(maps),
            timings=MappingProxyType(dict(timings)),
            geometry=geometry,
            labels=self.labels,
            scores_are=self.metadata.scores_are,
            detections=detections,
            frame=frame,
        )
