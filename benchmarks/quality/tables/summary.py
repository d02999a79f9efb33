"""The head of docs/quality.md: what the figures below it say, in a few sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from ...tables.markdown import paragraph
from ..evaluations import OBJECTS, PICTURES, PLUSPLUS
from ..reference import Scores, result
from ..retraining.orders import Line, agreement, input_scores, layer_scores
from ..study_plan import PRODUCT, RECIPROCAM, UNTRAINED
from .paired import plain
from .verdicts import compared

EDGES, CENTRED = "Sobel", "edges × centre"
LAYERCAM = "map × LayerCAM of two"


def summary_section(scores: Scores, folder: Path, cells: Sequence[Line]) -> str:
    """A list of findings, each from the results of one of the sections below."""
    parts = (_needs(scores), _classes(folder), _objects(folder), _flicker(folder), _retraining(cells))
    found = [paragraph(f"- {one}", indent="  ") for part in parts for one in part]
    return "\n".join(["## In short", "", *found]) if found else ""


def _needs(scores: Scores) -> Iterator[str]:
    def against(name: str, other: str) -> str:
        return f"{other}: {compared(scores, name, other)}"

    if not scores:
        return
    yield (
        "How well `saliency_map` predicts what the network needs (insertion minus deletion). Against "
        f"{'. Against '.join(against('saliency_map', name) for name in (CENTRED, 'Grad-CAM++', 'Grad-CAM'))}."
    )
    yield (
        f"The same of `saliency_fastcam`, the product with Grad-CAM. Against {against(PRODUCT, 'Grad-CAM')}. "
        f"Against {against(PRODUCT, 'saliency_map')}. The product with `--cam layercam`, against that with "
        f"Grad-CAM: {compared(scores, LAYERCAM, PRODUCT)}."
    )
    if recipro := compared(scores, "saliency_map", RECIPROCAM):
        yield f"`saliency_map` against openvino_xai's ReciproCAM: {recipro}."
    if untrained := compared(scores, UNTRAINED, EDGES):
        means = "; ".join(
            f"{network} {plain(fmean(one[UNTRAINED]))} and {plain(fmean(one[EDGES]))}"
            for network, one in scores.items()
            if UNTRAINED in one
        )
        yield (
            f"The map of an untrained network against an edge filter: {untrained} ({means}). So a plausible "
            "map does not show that a network has learnt."
        )


def _classes(folder: Path) -> Iterator[str]:
    gradcam, plusplus = (_dependence(result(one.file, folder)) for one in (PICTURES[0], PLUSPLUS))
    if gradcam is not None and plusplus is not None:
        yield (
            f"Class maps ({PICTURES[0].network}): the map of a random class has a rank correlation of "
            f"{gradcam} with that of the best class for Grad-CAM, and of {plusplus} for Grad-CAM++. So "
            "Grad-CAM++ hardly depends on the class, and Grad-CAM is the default."
        )


def _dependence(content: dict[str, Any] | None) -> str | None:
    return None if content is None else f"{content['class_dependence']['cam']['mean']:.2f}"


def _objects(folder: Path) -> Iterator[str]:
    coco = OBJECTS[0]
    content = result(coco.file, folder)
    if content is None:
        return
    figures = {
        name: ", ".join(
            f"{metric} {content['summary'][name][key]['mean']:.2f}"
            for metric, key in (("pointing", "pointing"), ("pixel AUC", "pixel_auc"))
        )
        for name in ("saliency_map", "fastcam", "centre", CENTRED)
    }
    yield (
        f"Objects in {coco.pictures} ({coco.network}): "
        f"{'; '.join(f'{name} {one}' for name, one in figures.items())}."
    )


def _flicker(folder: Path) -> Iterator[str]:
    content = result(PICTURES[0].file, folder)
    if content is None or not content["flicker"]:
        return
    one = content["flicker"]["saliency_map"]
    yield (
        f"Video ({PICTURES[0].network}): the map changes by {one['plain']:.1f} % of its deviation per frame; "
        f"smoothed as by default by {one['smoothed']:.1f} %, at a correlation of {one['correlation']:.2f}."
    )


def _retraining(cells: Sequence[Line]) -> Iterator[str]:
    layers, inputs = layer_scores(cells), input_scores(cells)
    orders = {
        "statistics, activations masked": agreement(layers.differences, layers.printed),
        "maps, photos masked": agreement(inputs.sums, inputs.printed),
    }
    found = [
        f"{name}: {plain(one.correlation, 2)}, {one.rows} rows, {100 * one.chance:.0f} % by chance"
        for name, one in orders.items()
        if one is not None
    ]
    if found:
        yield (
            "The paper's experiments on small photos, rank correlation with its order, and how many random "
            f"orders agree as well ({'; '.join(found)})."
        )
