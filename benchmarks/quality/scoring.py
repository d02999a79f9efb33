"""Insertion and deletion of one picture, as `study_plan` says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from fastcam_export.evaluate.measures.baselines import Tensor, blurred
from fastcam_export.evaluate.measures.masks import ranking
from fastcam_export.evaluate.measures.perturbation import area, curves
from fastcam_export.evaluate.subject import Subject
from numpy.typing import NDArray


def predicted(subject: Subject, tensor: Tensor) -> int:
    """The class that the network sees in a picture."""
    return int(subject.probabilities([tensor])[0].argmax())


def areas(
    subject: Subject, tensor: Tensor, target: int, maps: Mapping[str, NDArray[np.floating]]
) -> dict[str, tuple[float, float]]:
    """For each map, the area under the insertion curve of class `target` and under the deletion curve."""

    def ask(versions: Iterable[Tensor]) -> NDArray[np.float64]:
        return subject.probabilities(versions)[:, target]

    ranks = {name: ranking(np.asarray(values, np.float32)) for name, values in maps.items()}
    found = curves(tensor, blurred(tensor), ranks, ask)
    return {name: (area(insertion), area(deletion)) for name, (insertion, deletion) in found.items()}
