"""Explain one box of a detector: the one that a user clicked on, or the n-th best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from .. import contract
from ..errors import FastcamError
from ..explainer import Explainer
from ..explanation import Explanation, InputTensor, Maps
from ..image import Array, Geometry, Image
from .detections import Detection

Wanted = int | tuple[float, float]
"""A box: its index in `Explanation.detections`, or a point (x, y) of the frame inside it."""


def find_box(detections: Sequence[Detection], wanted: Wanted) -> Detection | None:
    """The detection that is wanted; of several at a point the smallest. None if there is none."""
    if isinstance(wanted, int):
        return detections[wanted] if 0 <= wanted < len(detections) else None
    there = [found for found in detections if found.contains(*wanted)]
    return min(there, key=lambda found: found.area, default=None)


def explain_box(
    explainer: Explainer, frame: Image | InputTensor, wanted: Wanted, outputs: Sequence[str] | None = None
) -> Explanation:
    """The explanation of one detection of a frame: `chosen` is that detection.

    A file that was exported with `--cam` gives the map of that box. With the score grid, the class maps are
    those of the box's class, cut to the box. A map without a class stays as it is. Without such a
    detection the result is that of a plain call.

    Args:
        explainer: A detector.
        frame: As for `Explainer.explain`.
        wanted: The box.
        outputs: As for `Explainer.explain`.

    Raises:
        FastcamError: The model is no detector.
    """
    if explainer.metadata.detector is None:
        raise FastcamError(f"no box can be explained: {explainer.model.path} has no known detector's head")
    tensor = frame if isinstance(frame, InputTensor) else explainer.preprocess(frame)
    first = explainer.explain(tensor, None, outputs)[0]
    chosen = find_box(first.detections, wanted)
    if chosen is None:
        return first
    result = first
    words = explainer.outputs if outputs is None else contract.words_of(outputs)
    if not set(contract.CLASS_OUTPUTS).isdisjoint(words):
        if explainer.model.class_input(explainer.model.session(words)).box:
            result = explainer.explain(replace(tensor, row=chosen.row), chosen.index, outputs)[0]
        else:
            if chosen.index != first.index:
                result = explainer.explain(tensor, chosen.index, outputs)[0]
            result = replace(result, maps=_cut_maps(result, chosen))
    if result is not first:
        timings = {stage: first.timings.get(stage, 0.0) + ms for stage, ms in result.timings.items()}
        result = replace(result, timings=MappingProxyType(timings))
    return replace(result, index=chosen.index, label=chosen.label, score=chosen.score, chosen=chosen)


def _cut_maps(explanation: Explanation, chosen: Detection) -> Maps:
    """The maps, those that show where a class is cut to the box."""
    of_class = (contract.CAM, contract.FASTCAM)
    cut = {
        name: cut_to_box(array, explanation.geometry, chosen) if name in of_class else array
        for name, array in explanation.maps.items()
    }
    return Maps(cut)


def cut_to_box(saliency: Array, geometry: Geometry, found: Detection) -> Array:
    """A map at the input's size that is 0 outside a box and has its largest value, 1, inside."""
    left, top, right, bottom = geometry.to_input(np.array([found.box]))[0]
    result = np.zeros_like(saliency)
    inside = (slice(int(top), int(np.ceil(bottom))), slice(int(left), int(np.ceil(right))))
    part = saliency[inside]
    most = float(part.max()) if part.size else 0.0
    if most > 0:
        result[inside] = part / most
    return result
