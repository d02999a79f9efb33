"""The retraining's results as tables of docs/quality.md, beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..markdown import markdown_table, paragraph
from . import protocol
from .cells import MODES, planned
from .scores import difference_score, information_score, quartile_shares

COMMAND = "python -m benchmarks.quality.retrain --hours 2"
PAPER_D = {
    "smoe": 1.40, "std": 1.36, "truncnormal_entropy": 1.32, "shannon": 1.31, "truncnormal_std": 1.28,
    "truncnormal_mean": 1.23, "mean": 1.11, "lognormal_entropy": 1.09, "lognormal_mean": 1.03,
}  # fmt: skip
"""The difference score as the paper prints it, mean of its three data sets."""
PAPER_INPUT = {
    "smoe prior": (65.44, 72.14, 74.28, 74.51, 75.01, 70.40, 60.33, 48.48, 34.23, 17.72),
    "smoe linear": (65.76, 72.60, 73.97, 74.53, 74.94, 70.28, 60.93, 48.73, 35.66, 18.01),
    "smoe equal": (66.13, 72.28, 73.72, 74.52, 74.97, 71.28, 63.58, 52.85, 38.74, 19.72),
    "std": (65.48, 72.17, 73.93, 74.62, 74.67, 69.98, 60.39, 48.75, 34.63, 18.13),
    "truncnormal_entropy": (65.45, 72.38, 74.10, 74.40, 74.75, 69.85, 60.08, 48.05, 34.32, 18.37),
    "Grad-CAM++": (66.75, 73.53, 74.52, 74.86, 74.70, 70.88, 60.79, 48.06, 32.53, 14.92),
    "smoe × Grad-CAM++": (67.91, 73.33, 74.54, 74.82, 75.21, 70.20, 59.19, 46.05, 31.64, 14.99),
    protocol.SMOOTHGRAD: (63.25, 69.79, 72.20, 73.18, 73.96, 69.35, 60.28, 41.55, 29.45, 11.09),
    protocol.RANDOM: (63.53, 67.06, 69.13, 71.02, 72.65, 72.65, 71.02, 69.13, 67.06, 63.53),
}
"""The paper's accuracies in percent (ResNet-50, ImageNet), in the order of `COLUMNS`."""
COLUMNS = [(mode, share) for mode in MODES for share in protocol.SHARES]

Line = Mapping[str, Any]
Accuracy = dict[tuple[str, str, float], float]
"""By method, mode and place."""


def retrain_section(lines: Sequence[Line]) -> str:
    """Both experiments, as far as they were run."""
    if not lines:
        return ""
    seeds = sorted({line["seed"] for line in lines})
    whole = [line["accuracy"] for line in lines if line["experiment"] == "whole"]
    every = sum(1 for _ in planned())
    head = paragraph(
        f"Imagenette at 64×64, a small ResNet of five scales trained from scratch in {protocol.EPOCHS} "
        f"epochs: {', '.join(f'{100 * one:.1f} %' for one in whole)} of the whole validation photos. "
        f"Run so far: {len(lines)} of {every} cells, seed {_listed(seeds)}. The command continues with the "
        "remaining cells."
    )
    parts = [f"## The paper's experiments, at a small size\n\nMade by `{COMMAND}`.\n\n{head}"]
    parts += [part for seed in seeds for part in (_layers(lines, seed), _inputs(lines, seed)) if part]
    return "\n\n".join(parts)


def _accuracies(lines: Sequence[Line], experiment: str, seed: int) -> Accuracy:
    return {
        (line["method"], line["mode"], line["at"]): line["accuracy"]
        for line in lines
        if line["experiment"] == experiment and line["seed"] == seed
    }


def _layers(lines: Sequence[Line], seed: int) -> str:
    """Accuracy per layer and statistic, D and I against the random map, over the layers that are complete."""
    found = _accuracies(lines, "layer", seed)
    methods = (*protocol.LAYER_METHODS, protocol.RANDOM)
    complete = [k for k in range(1, 6) if all((m, mode, k) in found for m in methods for mode in MODES)]
    if not complete:
        return ""
    chance = {mode: [found[protocol.RANDOM, mode, k] for k in complete] for mode in MODES}
    per_layer: dict[str, list[float]] = {}
    rows = []
    for method in methods:
        kar, roar = ([found[method, mode, k] for k in complete] for mode in MODES)
        cells = [f"{100 * value:.1f}" for value in (*kar, *roar)]
        if method == protocol.RANDOM:
            rows.append([method, *cells, "", "", ""])
            continue
        given = kar, roar, chance["KAR"], chance["ROAR"]
        scores = [f"{score(*given):.2f}" for score in (difference_score, information_score)]
        rows.append([method, *cells, *scores, f"{PAPER_D[method]:.2f}"])
        per_layer[method] = [information_score([k], [r], [a], [b]) for k, r, a, b in zip(*given, strict=True)]
    rows.sort(key=lambda row: -float(row[-3] or "-inf"))
    head = ["statistic", *(f"{mode} L{k}" for mode in MODES for k in complete), "D", "I", "paper's D"]
    shares = quartile_shares(per_layer)
    quartiles = [[name, *(f"{100 * x:.0f} %" for x in row)] for name, row in shares.items()]
    text = paragraph(
        f"Accuracy in percent with activations masked at one scale; layers {_listed(complete)} of five. "
        "*Paper's D* is the mean of its three data sets over five layers of a ResNet-50: only the order can "
        "be compared. One seed; the standard error of one accuracy is about 0.8 points."
    )
    return "\n\n".join(
        [
            f"### One scale masked, seed {seed}",
            text,
            markdown_table(head, rows),
            "Share of the layers in which a statistic's information score is among the best:",
            markdown_table(["statistic", "top 25 %", "top 50 %", "top 75 %"], quartiles),
        ]
    )


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def _inputs(lines: Sequence[Line], seed: int) -> str:
    """Accuracy after retraining on masked photos, as far as it was run."""
    found = _accuracies(lines, "input", seed)
    if not found:
        return ""
    for share in protocol.SHARES:  # for random pixels, KAR of a share is ROAR of the rest
        value = found.get((protocol.RANDOM, "KAR", round(1 - share, 2)))
        if value is not None:
            found.setdefault((protocol.RANDOM, "ROAR", share), value)
    methods = dict.fromkeys(method for method, _, _ in found)
    columns = [column for column in COLUMNS if any((method, *column) in found for method in methods)]
    compared = [column for column in columns if all((method, *column) in found for method in methods)]
    rows = []
    for method in methods:
        values = [found.get((method, *column)) for column in columns]
        cells = ["" if value is None else f"{100 * value:.1f}" for value in values]
        ours = sum(_sign(mode) * 100 * found[method, mode, share] for mode, share in compared)
        rows.append([method, *cells, f"{ours:.1f}", _paper_sum(method, compared)])
    rows.sort(key=lambda row: -float(row[-2]))
    head = ["map", *(_column(*column) for column in columns), "sum", "paper's sum"]
    text = paragraph(
        "Accuracy in percent of networks trained from scratch on masked photos. KAR keeps the most salient "
        "pixels (higher is better), ROAR removes them (lower is better). *Sum*: KAR minus ROAR, over the "
        f"columns that every map has ({', '.join(_column(*column) for column in compared)}); *paper's sum*: "
        "the same columns of its ResNet-50 on ImageNet, so only the order can be compared. Random pixels do "
        "well in KAR because scattered pixels show the whole photo; blobs are the fair control. What else "
        "differs from the paper: 64×64 pixels, a class map of 4×4, ten classes, objects in the centre, and "
        f"{protocol.EPOCHS} epochs. The standard error of one accuracy is about 0.8 points."
    )
    return f"### Photos masked, seed {seed}\n\n{text}\n\n{markdown_table(head, rows)}"


def _column(mode: str, share: float) -> str:
    return f"{mode} {round(100 * share)} %"


def _paper_sum(method: str, columns: Sequence[tuple[str, float]]) -> str:
    """The paper's KAR minus its ROAR accuracies over some columns; empty for maps that it does not have."""
    if not columns or method not in PAPER_INPUT:
        return ""
    printed = dict(zip(COLUMNS, PAPER_INPUT[method], strict=True))
    return f"{sum(_sign(mode) * printed[mode, share] for mode, share in columns):.1f}"


def _sign(mode: str) -> int:
    """KAR counts for a map, ROAR against it."""
    return 1 if mode == "KAR" else -1
