"""The results of `fastcam evaluate` on the study's networks, as text of docs/quality.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fastcam_export.evaluate.metrics import METRICS
from fastcam_export.evaluate.report.numbers import plain, rounded

from ...tables.markdown import markdown_table, paragraph
from ..evaluations import OBJECTS, PICTURES, PLUSPLUS, Evaluated
from ..reference import result
from .figures import interval

OTHER_METRICS = ("score_mean", "road", "drop", "increase")
OBJECT_METRICS = ("pointing", "energy", "pixel_auc")


def evaluation_section(folder: Path) -> str:
    """Other measures, sanity checks, class dependence, objects and flicker."""
    parts = [_other_measures(folder), _sanity(folder), _objects(folder), _flicker(folder)]
    found = [part for part in parts if part]
    if not found:
        return ""
    return "\n\n".join(["## By `fastcam evaluate`: other measures, sanity checks, objects, flicker", *found])


def _other_measures(folder: Path) -> str:
    meanings = " ".join(
        f"*{METRICS[name].title}* ({'higher' if METRICS[name].higher_is_better else 'lower'} is better): "
        f"{METRICS[name].meaning}."
        for name in OTHER_METRICS
    )
    text = paragraph(f"{meanings} In brackets the interval of the difference to `saliency_map`.")
    tables = [
        f"{paragraph(one.heading(content))}\n\n{_summary(content, OTHER_METRICS, 3)}"
        for one, content in _found(PICTURES, folder)
    ]
    return "\n\n".join(["### Other measures", text, *tables]) if tables else ""


def _sanity(folder: Path) -> str:
    """The checks, as far as they were run."""
    parts = []
    for one, content in _found((*PICTURES, PLUSPLUS), folder):
        maps, classes = list(content["edges"]), content["class_dependence"]
        rows = [
            [f"itself, weights shuffled: {step}", *(_own_interval(values[name]) for name in maps)]
            for step, values in content["sanity"].items()
        ]
        rows += [
            ["that of another picture", *(_own_interval(content["other_picture"].get(name)) for name in maps)]
        ]
        rows += [["the edge filter", *(_own_interval(content["edges"][name]) for name in maps)]]
        rows += [["itself for a random class", *(_own_interval(classes.get(name)) for name in maps)]]
        parts.append(f"{paragraph(one.heading(content))}\n\n{markdown_table(['', *maps], rows)}")
    if not parts:
        return ""
    text = paragraph(
        "Rank correlation of each map with the one in the row, with its 95 % interval. A map that shows what "
        "was learnt changes with the weights; a class map changes with the class."
    )
    return "\n\n".join(["### Sanity checks and classes", text, *parts])


def _objects(folder: Path) -> str:
    tables = [
        f"{paragraph(one.heading(content))}\n\n{_summary(content, OBJECT_METRICS, 2)}"
        for one, content in _found(OBJECTS, folder)
    ]
    if not tables:
        return ""
    text = paragraph(
        "Any annotated object counts. *Pointing*: the share of photos whose brightest pixel is on an object. "
        "In brackets the 95 % interval of the paired difference to `saliency_map`; one that includes 0 does "
        "not show a difference. Pets fill the middle of their photos, so a guess at the centre does well "
        "there: such photos prove little."
    )
    return "\n\n".join(["### Objects", text, *tables])


def _flicker(folder: Path) -> str:
    rows, frames = [], 0
    for one, content in _found(PICTURES, folder):
        for name, values in content["flicker"].items():
            frames = values["frames"]
            figures = f"{values['plain']:.1f}", f"{values['smoothed']:.1f}", f"{values['correlation']:.3f}"
            rows.append([one.network, name, *figures])
    if not rows:
        return ""
    text = paragraph(
        f"Change per frame of cars.mp4, in percent of the map's standard deviation ({frames} frames), and "
        "the correlation of the smoothed map with the plain one. Smoothing of 0.7 is the default of `fastcam "
        "run` for videos and cameras."
    )
    table = markdown_table(["network", "map", "plain", "smoothed 0.7", "correlation"], rows)
    return f"### Flicker\n\n{text}\n\n{table}"


def _found(every: Sequence[Evaluated], folder: Path) -> list[tuple[Evaluated, dict[str, Any]]]:
    """Those whose results were accepted, with their content."""
    contents = ((one, result(one.file, folder)) for one in every)
    return [(one, content) for one, content in contents if content is not None]


def _summary(content: dict[str, Any], metrics: Sequence[str], digits: int) -> str:
    """A row per map and control: the means, and the intervals of their differences to the first map."""
    rows = [
        [method, *(_compared(values[metric], method != "saliency_map", digits) for metric in metrics)]
        for method, values in content["summary"].items()
    ]
    return markdown_table(["map", *(METRICS[metric].title for metric in metrics)], rows)


def _compared(one: dict[str, Any], compared: bool, digits: int) -> str:
    """A mean, and the interval of its difference to the reference map."""
    brackets = f" {interval(one['difference'], digits)}" if compared else ""
    return f"{plain(one['mean'], digits)}{brackets}"


def _own_interval(one: dict[str, Any] | None) -> str:
    """A mean with its own interval."""
    if one is None or one["mean"] is None:
        return ""
    return f"{rounded(one['mean'], 2)} [{rounded(one['low'], 2)}, {rounded(one['high'], 2)}]"
