"""Candidates for a better map, for other weights, and against flicker: tables of docs/quality.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from fastcam_export.evaluate.bootstrap import Estimate, estimate_difference
from fastcam_export.evaluate.report.numbers import plain

from ...tables.markdown import markdown_table, paragraph
from .. import study_plan
from ..reference import Scores
from ..study_plan import BLURRED, DEFAULT_WEIGHTS, SMOOTHED
from .figures import interval, signed

ENOUGH = 30
"""Pictures in each half before a candidate may be adopted."""


def candidate_section(scores: Scores) -> str:
    """The candidates for a better map: the best on the even pictures, and whether the odd ones confirm it."""
    if not scores:
        return ""
    rows: list[list[str]] = []
    verdicts = []
    for old, candidates in (
        (study_plan.PRODUCT, study_plan.CLASS_CANDIDATES),
        ("saliency_map", study_plan.MAP_CANDIDATES),
    ):
        halves = {name: [_halves(one[name], one[old]) for one in scores.values()] for name in candidates}
        selected = max(candidates, key=lambda name: sum(even.mean for even, _ in halves[name]))
        verdicts.append(_verdict(selected, old, halves[selected]))
        for name in candidates:
            cells = (f"{signed(even.mean)} / {interval(odd)}" for even, odd in halves[name])
            rows.append([name, old, *cells])
    fewest = min(len(one["saliency_map"]) // 2 for one in scores.values())
    few = f"With only {fewest} pictures per half, nothing is adopted yet. " if fewest < ENOUGH else ""
    text = paragraph(
        "The difference to the map that a candidate would replace: its mean on the even pictures, and its "
        "95 % interval on the odd ones. The candidate with the highest mean over the networks on the even "
        "pictures is selected; the odd ones confirm it if the interval excludes zero on at least two "
        f"networks and it is worse on none. {' '.join(verdicts)} {few}`--cam layercam` gives LayerCAM of "
        "two; because of its cost ([method.md](method.md)) it is not the default. Two rules were fixed only "
        f"after the first results: the mean over the networks selects, and a half needs {ENOUGH} pictures. "
        f"{study_plan.RESNET50} was added later still, and makes *at least two* an easier rule."
    )
    return f"## A better map?\n\n{text}\n\n{markdown_table(['candidate', 'instead of', *scores], rows)}"


def weight_section(results: Sequence[Mapping[str, Any]] | None) -> str:
    """Weights for networks without five scales; empty if they were not measured."""
    if not results:
        return ""
    names = [name for name in results[0]["scores"] if name != DEFAULT_WEIGHTS]
    rows, halves = [], {}
    for name in (DEFAULT_WEIGHTS, *names):
        means = [plain(fmean(one["scores"][name])) for one in results]
        if name == DEFAULT_WEIGHTS:
            rows.append([f"**{name}**", *means])
            continue
        halves[name] = [_halves(one["scores"][name], one["scores"][DEFAULT_WEIGHTS]) for one in results]
        gaps = (f"{signed(even.mean)} / {interval(odd)}" for even, odd in halves[name])
        rows.append([name, *(f"{mean}: {gap}" for mean, gap in zip(means, gaps, strict=True))])
    selected = max(names, key=lambda name: sum(even.mean for even, _ in halves[name]))
    counts = {len(one["scores"][DEFAULT_WEIGHTS]) for one in results}
    text = paragraph(
        f"The default for networks without five scales is {DEFAULT_WEIGHTS}. Insertion minus deletion "
        f"({', '.join(map(str, sorted(counts)))} pictures), then the difference to {DEFAULT_WEIGHTS} as in "
        f"the table above. {_verdict(selected, DEFAULT_WEIGHTS, halves[selected])} No file with real weights "
        "of three or six scales was found: the small ResNets were trained for this, on Imagenette at 64×64."
    )
    made = "Made by `python -m benchmarks.quality.beside.weight_candidates`."
    head = ["weights", *(f"{one['network']} ({one['scales']})" for one in results)]
    return f"### Weights for three, four and six scales\n\n{made}\n\n{text}\n\n{markdown_table(head, rows)}"


def first_scale_section(results: Mapping[str, Any] | None) -> str:
    """The flicker of the first scale; empty if it was not measured."""
    if results is None:
        return ""
    whole = results["saliency_map"]
    likeness = {"saliency_map": (1.0, whole["correlation"])}
    likeness |= {name: (results[name]["likeness"], None) for name in (BLURRED, SMOOTHED)}
    rows = []
    for name, one in results.items():
        plain_like, smooth_like = likeness.get(name, (None, None))
        figures = f"{one['plain']:.1f}", _three(plain_like), f"{one['smoothed']:.1f}", _three(smooth_like)
        rows.append([name, *figures])
    adopted = [
        name
        for name in (BLURRED, SMOOTHED)
        if results[name]["plain"] < whole["smoothed"] and results[name]["likeness"] > whole["correlation"]
    ]
    verdict = f"Adopted: {', '.join(adopted)}." if adopted else "Neither is adopted."
    text = paragraph(
        f"*Flicker*: change per frame of cars.mp4 ({whole['frames']} frames), in percent of the map's "
        "standard deviation. *Likeness*: the correlation with the plain `saliency_map`. The first scale "
        "flickers most, so it could be smoothed on its own: blurred in space, or over time (0.7) before the "
        "scales are combined. A candidate is adopted only if it flickers less than `saliency_map` with the "
        f"default smoothing of videos, 0.7 of the whole map, and resembles the plain map more. {verdict} "
        "The first scale has a tenth of the weight, so most of the flicker is that of the other scales."
    )
    made = "Made by `python -m benchmarks.quality.beside.first_scale`."
    head = ["EfficientNet-Lite0", "flicker", "likeness", "flicker, whole map smoothed", "likeness"]
    return f"### The first scale and flicker\n\n{made}\n\n{text}\n\n{markdown_table(head, rows)}"


def _three(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _halves(values: Sequence[float], old: Sequence[float]) -> tuple[Estimate, Estimate]:
    """The difference on the even pictures, and on the odd ones."""
    return estimate_difference(values[::2], old[::2]), estimate_difference(values[1::2], old[1::2])


def _verdict(name: str, old: str, halves: Sequence[tuple[Estimate, Estimate]]) -> str:
    if sum(even.mean for even, _ in halves) <= 0:
        return f"No candidate is better than {old} on the even pictures."
    better, worse = sum(odd.low > 0 for _, odd in halves), sum(odd.high < 0 for _, odd in halves)
    return f"Selected: {name}; the odd pictures {'' if better >= 2 and not worse else 'do not '}confirm it."
