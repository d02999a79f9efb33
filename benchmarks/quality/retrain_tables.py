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
    columns = [(mode, share) for mode in MODES for share in protocol.SHARES]
    columns = [column for column in columns if any((m, *column) in found for m, _, _ in found)]
    methods = dict.fromkeys(method for method, _, _ in found)
    rows = []
    for method in methods:
        values = [found.get((method, *column)) for column in columns]
        rows.append([method, *("" if value is None else f"{100 * value:.1f}" for value in values)])
    head = ["map", *(f"{mode} {round(100 * share)} %" for mode, share in columns)]
    text = paragraph(
        "Accuracy in percent of networks trained from scratch on masked photos. KAR keeps the most salient "
        "pixels (higher is better), ROAR removes them (lower is better). Random pixels do well in KAR "
        "because scattered pixels show the whole photo; blobs are the fair control."
    )
    return f"### Photos masked, seed {seed}\n\n{text}\n\n{markdown_table(head, rows)}"
