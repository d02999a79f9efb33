"""The head of docs/quality.md: what the figures below it say, in a few sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from fastcam_export.evaluate.bootstrap import Estimate
from fastcam_export.evaluate.controls import EDGES
from fastcam_export.evaluate.report.dependence import Dependence
from fastcam_export.evaluate.report.numbers import plain

from ...tables.markdown import paragraph
from ..evaluations import OBJECTS, PICTURES, PLUSPLUS
from ..reference import Scores, result
from ..retraining.orders import Line, agreement, input_scores, layer_scores
from ..study_plan import LAYERCAM_PRODUCT, PRODUCT, RECIPROCAM, UNTRAINED
from .figures import agreeing
from .verdicts import WORSE, by_verdict, compared, of_difference

CENTRED = "edges × centre"


def summary_section(scores: Scores, folder: Path, cells: Sequence[Line]) -> str:
    """A list of findings, each from the results of one of the sections below."""
    parts = (_needs(scores), _classes(folder), _objects(folder), _flicker(folder), _retraining(cells))
    found = [paragraph(f"- {one}", indent="  ") for part in parts for one in part]
    return "\n".join(["## In short", "", *found]) if found else ""


def _needs(scores: Scores) -> Iterator[str]:
    if not scores:
        return
    said = ". ".join(
        f"Against {name}: {compared(scores, 'saliency_map', name)}"
        for name in (CENTRED, "Grad-CAM++", "Grad-CAM")
    )
    yield f"How well `saliency_map` predicts what the network needs (insertion minus deletion). {said}."
    odd = {network: {name: one[1::2] for name, one in maps.items()} for network, maps in scores.items()}
    yield (
        "The same of `saliency_fastcam`, the product with Grad-CAM. Against Grad-CAM: "
        f"{compared(scores, PRODUCT, 'Grad-CAM')}. Against saliency_map: "
        f"{compared(scores, PRODUCT, 'saliency_map')}. The product with LayerCAM of two (`--cam layercam`), "
        "selected on the even pictures, against that with Grad-CAM on the odd ones: "
        f"{compared(odd, LAYERCAM_PRODUCT, PRODUCT)}."
    )
    if recipro := compared(scores, "saliency_map", RECIPROCAM):
        yield f"`saliency_map` against openvino_xai's ReciproCAM: {recipro}."
    yield from _untrained(scores)


def _untrained(scores: Scores) -> Iterator[str]:
    found = by_verdict(scores, UNTRAINED, EDGES)
    if not found:
        return
    means = "; ".join(
        f"{network} {plain(fmean(one[UNTRAINED]))} and {plain(fmean(one[EDGES]))}"
        for network, one in scores.items()
        if UNTRAINED in one
    )
    follows = "" if set(found) == {WORSE} else " So a plausible map does not show that a network has learnt."
    yield (
        f"The map of an untrained network against an edge filter: {compared(scores, UNTRAINED, EDGES)} "
        f"({means}).{follows}"
    )


def _classes(folder: Path) -> Iterator[str]:
    contents = (result(one.file, folder) for one in (PICTURES[0], PLUSPLUS))
    found = [content["class_dependence"]["cam"] for content in contents if content is not None]
    if len(found) < 2:
        return
    yield (
        f"Class maps ({PICTURES[0].network}): the map of a random class has a rank correlation of "
        f"{found[0]['mean']:.2f} with that of the best class for Grad-CAM, and of {found[1]['mean']:.2f} for "
        f"Grad-CAM++. So Grad-CAM {_dependence(found[0])}, and Grad-CAM++ {_dependence(found[1])}."
    )


def _dependence(one: Mapping[str, float]) -> str:
    """As `fastcam evaluate` decides it."""
    return {
        Dependence.YES: "depends on the class",
        Dependence.PART: "depends on the class in part",
        Dependence.HARDLY: "hardly depends on the class",
        Dependence.OPEN: "leaves open how much it depends on the class",
    }[Dependence.of(one["low"], one["high"])]


def _objects(folder: Path) -> Iterator[str]:
    coco = OBJECTS[0]
    content = result(coco.file, folder)
    if content is None:
        return
    figures = "; ".join(
        f"{title}: saliency_map {_mean(content, 'saliency_map', metric)}, {CENTRED} "
        f"{_mean(content, CENTRED, metric)} ({_against(content, CENTRED, metric)}), centre "
        f"{_mean(content, 'centre', metric)} ({_against(content, 'centre', metric)})"
        for title, metric in (("pointing", "pointing"), ("energy", "energy"), ("pixel AUC", "pixel_auc"))
    )
    yield (
        f"Objects in {content['evaluated']} {coco.pictures} ({coco.network}), and in brackets whether the "
        f"map is better. {figures[0].upper()}{figures[1:]}."
    )


def _mean(content: Mapping[str, Any], name: str, metric: str) -> str:
    return f"{content['summary'][name][metric]['mean']:.2f}"


def _against(content: Mapping[str, Any], control: str, metric: str) -> str:
    """Whether `saliency_map` is better than a control; the file has the control's difference to it."""
    gap = content["summary"][control][metric]["difference"]
    return of_difference(Estimate(-gap["mean"], -gap["high"], -gap["low"]))


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
    for what, found in (
        ("of the statistics, activations masked", agreement(layers.differences, layers.printed)),
        ("of the maps, photos masked", agreement(inputs.sums, inputs.printed)),
    ):
        if found is not None:
            yield (
                f"The paper's experiments on small photos: the order {what}, has a rank correlation of "
                f"{plain(found.correlation, 2)} with the paper's ({agreeing(found.rows, found.chance)})."
            )
