"""The study's results as a table of docs/quality.md."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from fastcam_export.evaluate.bootstrap import estimate_difference
from fastcam_export.evaluate.report.numbers import plain

from ...tables.markdown import markdown_table, paragraph
from .. import study_plan
from ..reference import Scores
from .figures import interval, listed
from .verdicts import BETTER, verdict

COMMAND = "python -m benchmarks.quality.study --resnet base-0.pt"
AGAIN = "*Blobs* were measured again after the first run, because they had been strongest at the borders."
CONTROLS = ("edges × centre", "Sobel", "centre", "blobs", "random")


def study_section(scores: Scores) -> str:
    """All maps on all networks, the best on average first."""
    if not scores:
        return ""
    counts = ", ".join(f"{network} {len(maps['saliency_map'])}" for network, maps in scores.items())
    candidates = {*study_plan.CLASS_CANDIDATES, *study_plan.MAP_CANDIDATES} - {study_plan.LAYERCAM_PRODUCT}
    names = [
        name for name in dict.fromkeys(n for one in scores.values() for n in one) if name not in candidates
    ]
    names.sort(key=lambda name: -fmean(fmean(one[name]) for one in scores.values() if name in one))
    rows = []
    for name in names:
        cells = [_cell(one.get(name), one["saliency_map"], name != "saliency_map") for one in scores.values()]
        rows.append([f"**{name}**" if name == "saliency_map" else name, *cells])
    images = "\n".join(f"![{network}](quality-{network.lower().replace(' ', '-')}.svg)" for network in scores)
    intro = paragraph(
        f"Insertion minus deletion (higher is better), mean over the pictures ({counts}); in brackets the "
        "95 % interval of the paired difference to `saliency_map`. An interval that includes 0 does not show "
        "a difference, and of twenty differences that do not exist, about one is shown by chance. Class maps "
        "are those of the predicted class. Grad-CAM and Grad-CAM++ are ours; the rows *of grad-cam* are that "
        "package's. *LayerCAM of two* is grad-cam's LayerCAM of the two deepest scales, which `--cam "
        "layercam` gives too."
    )
    beside = ", ".join(f"*{name}*" for name in study_plan.BESIDE)
    made = paragraph(
        f"Made by `{COMMAND}`; the rows {beside} by the modules `packages`, "
        "`reciprocam` and `untrained` of `benchmarks.quality.beside`, on the same pictures. The retraining "
        "below leaves `base-0.pt` in its cache."
    )
    table = markdown_table(["map", *scores], rows)
    return "\n\n".join(["## What the network needs", made, intro, _against_controls(scores), table, images])


def _against_controls(scores: Scores) -> str:
    """In words: on which networks `saliency_map` beats the controls, and where not."""
    good, said = [], []
    for network, maps in scores.items():
        ahead = [
            name for name in CONTROLS if name in maps and verdict(maps["saliency_map"], maps[name]) != BETTER
        ]
        if ahead:
            said.append(f"On {network} it is **not** shown to be better than {listed(ahead)}.")
        else:
            good.append(network)
    if good:
        said.insert(0, f"`saliency_map` is better than every control on {listed(good)}.")
    return paragraph(
        f"{' '.join(said)} Networks of other kinds, sizes or data can differ: measure yours. The figures do "
        f"not say that a map shows all that the network needs, or why it decides so. {AGAIN}"
    )


def _cell(values: Sequence[float] | None, base: Sequence[float], compared: bool) -> str:
    if values is None:
        return ""
    mean = plain(fmean(values))
    return f"{mean} {interval(estimate_difference(values, base))}" if compared else mean
