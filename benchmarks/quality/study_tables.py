"""The study's results as tables of docs/quality.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastcam_export.evaluate.bootstrap import Estimate, estimate

from ..tables.markdown import markdown_table, paragraph
from . import study_plan
from .reference import Scores

COMMAND = "python -m benchmarks.quality.study --resnet base-0.pt"
OLD_BLOBS = "*Blobs* were measured again after the first run, because they had been strongest at the borders."
CONTROLS = ("edges × centre", "Sobel", "centre", "blobs", "random")
DEFAULT_WEIGHTS = "linear"
"""The default for a network that does not have five scales."""
ADOPTED = (
    "LayerCAM of two is adopted as `--cam layercam`, not as the default: [method.md](method.md) has its cost."
)
ENOUGH = 30
"""Pictures in each half before a candidate may be adopted."""


def study_section(scores: Scores) -> str:
    """All maps on all networks, the best on average first."""
    if not scores:
        return ""
    counts = ", ".join(f"{network} {len(maps['saliency_map'])}" for network, maps in scores.items())
    maps = list(next(iter(scores.values())))
    candidates = (*study_plan.CLASS_CANDIDATES, *study_plan.MAP_CANDIDATES, "LayerCAM of two")
    listed = [name for name in maps if name not in candidates]
    listed.sort(key=lambda name: -sum(_mean(one[name]) for one in scores.values()))
    rows = []
    for name in listed:
        cells = [_cell(one[name], one["saliency_map"], name != "saliency_map") for one in scores.values()]
        rows.append([f"**{name}**" if name == "saliency_map" else name, *cells])
    images = "\n".join(f"![{network}](quality-{network.lower().replace(' ', '-')}.svg)" for network in scores)
    intro = paragraph(
        f"Insertion minus deletion (higher is better), mean over the pictures ({counts}); in brackets the "
        "95 % interval of the paired difference to `saliency_map`. An interval that includes 0 shows no "
        "difference. Class maps are those of the predicted class. Guided Backprop is the plain gradient on "
        "the mobile networks, because captum does not hook ReLU6."
    )
    table = markdown_table(["map", *scores], rows)
    made = f"Made by `{COMMAND}`; the retraining below leaves `base-0.pt` in its cache."
    parts = ["## What the network needs", made, intro, _against_controls(scores), table, images]
    return "\n\n".join(parts)


def _against_controls(scores: Scores) -> str:
    """In words: on which networks `saliency_map` beats the controls, and where not."""
    good, said = [], []
    for network, maps in scores.items():
        gaps = {name: _gap(maps[name], maps["saliency_map"]) for name in CONTROLS if name in maps}
        ahead = [name for name, gap in gaps.items() if gap.high >= 0]
        if ahead:
            said.append(f"On the {network} it is **not** better than {', '.join(ahead)}.")
        else:
            good.append(network)
    if good:
        said.insert(0, f"`saliency_map` is better than every control on {' and '.join(good)}.")
    return paragraph(
        f"{' '.join(said)} So measure networks of other kinds, sizes or data yourself. The figures do not "
        f"say that a map shows all that the network needs, or why it decides so. {OLD_BLOBS}"
    )


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
        gains = {
            name: [_gap(one[name][::2], one[old][::2]) for one in scores.values()] for name in candidates
        }
        checks = {
            name: [_gap(one[name][1::2], one[old][1::2]) for one in scores.values()] for name in candidates
        }
        selected = max(candidates, key=lambda name: sum(gap.mean for gap in gains[name]))
        verdicts.append(_verdict(selected, old, gains[selected], checks[selected]))
        for name in candidates:
            pairs = zip(gains[name], checks[name], strict=True)
            rows.append([name, old, *(f"{_number(gain.mean)} / {_interval(check)}" for gain, check in pairs)])
    fewest = min(len(one["saliency_map"]) // 2 for one in scores.values())
    few = f"With only {fewest} pictures per half, nothing is adopted yet. " if fewest < ENOUGH else ""
    text = paragraph(
        "The difference to the map that a candidate would replace: its mean on the even pictures, and its "
        "95 % interval on the odd ones. The candidate with the highest mean over the networks on the even "
        "pictures is selected; the odd ones confirm it if the interval excludes zero on at least two "
        f"networks and it is worse on none. {' '.join(verdicts)} {few}{ADOPTED} Two rules were fixed only "
        f"after the first results: the mean over the networks selects, and a half needs {ENOUGH} pictures."
    )
    return f"## A better map?\n\n{text}\n\n{markdown_table(['candidate', 'instead of', *scores], rows)}"


def scale_section(results: Mapping[str, Any] | None) -> str:
    """Weights for four scales, and the flicker of the first scale; empty if they were not measured."""
    if results is None:
        return ""
    weights, changes = results["weights"], results["flicker"]
    old = weights[DEFAULT_WEIGHTS]
    rows = []
    for name, values in weights.items():
        halves = [_gap(values[half::2], old[half::2]) for half in (0, 1)]
        gaps = ["", ""] if name == DEFAULT_WEIGHTS else [_number(halves[0].mean), _interval(halves[1])]
        rows.append([name, _number(_mean(values)).replace("+", ""), *gaps])
    text = paragraph(
        f"SqueezeNet 1.1 has four scales; the default there is {DEFAULT_WEIGHTS} ({len(old)} pictures). "
        "The other networks with real weights have five: three and six scales were not measured."
    )
    table = markdown_table(["weights", "score", "even pictures", "odd pictures"], rows)
    flicker_rows = [[name, f"{one['plain']:.1f}", f"{one['smoothed']:.1f}"] for name, one in changes.items()]
    flicker_text = paragraph(
        "Change per frame of cars.mp4, in percent of the map's standard deviation. Smoothing over time is "
        "the default for videos."
    )
    changed = markdown_table(["EfficientNet-Lite0", "plain", "smoothed 0.7"], flicker_rows)
    made = "Made by `python -m benchmarks.quality.scale_candidates`."
    title = "### Weights for four scales, and the first scale"
    return "\n\n".join([title, made, text, table, flicker_text, changed])


def _verdict(name: str, old: str, gains: Sequence[Estimate], checks: Sequence[Estimate]) -> str:
    if sum(gap.mean for gap in gains) <= 0:
        return f"No candidate is better than {old} on the even pictures."
    better, worse = sum(gap.low > 0 for gap in checks), sum(gap.high < 0 for gap in checks)
    return f"Selected: {name}; the odd pictures {'' if better >= 2 and not worse else 'do not '}confirm it."


def _cell(values: list[float], base: list[float], compared: bool) -> str:
    mean = _number(_mean(values)).replace("+", "")
    return f"{mean} {_interval(_gap(values, base))}" if compared else mean


def _gap(one: list[float], other: list[float]) -> Estimate:
    return estimate([a - b for a, b in zip(one, other, strict=True)])


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _number(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")


def _interval(gap: Estimate) -> str:
    return f"[{_number(gap.low)}, {_number(gap.high)}]"
