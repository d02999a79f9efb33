"""The retraining's results as tables of docs/quality.md, beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np
from fastcam_export.evaluate.measures.agreement import rank_correlation

from ...tables.markdown import markdown_table, paragraph
from . import protocol
from .cells import MODES, planned
from .paper_figures import COLUMNS, PAPER_D, paper_sum, sign
from .scores import difference_score, information_score, quartile_shares

COMMAND = "python -m benchmarks.quality.retrain --hours 2"
ERROR = 0.8
"""The standard error of one accuracy, in points: some 55 % of 3,925 photos."""
ORDERS = 10_000
"""How many random orders the order of the paper is compared with."""

Line = Mapping[str, Any]
Accuracy = Mapping[tuple[str, str, float], float]
"""By method, mode and place."""
Scores = Mapping[str, Sequence[float]]


def retrain_section(lines: Sequence[Line], earlier: Sequence[Line] = ()) -> str:
    """Both experiments, as far as they were run; `earlier` is a run on other machines."""
    if not lines:
        return ""
    seeds = sorted({line["seed"] for line in lines})
    whole = [line["accuracy"] for line in lines if line["experiment"] == "whole"]
    every = sum(1 for _ in planned())
    rest = " The command continues with the remaining cells." if len(lines) < every else ""
    head = paragraph(
        f"Imagenette at 64×64, a small ResNet of five scales trained from scratch in {protocol.EPOCHS} "
        f"epochs: {', '.join(f'{100 * one:.1f} %' for one in whole)} of the whole validation photos. "
        f"Run: {len(lines)} of {every} cells, seed {_listed(seeds)}.{rest} "
        f"One machine ran all cells. The standard error of one accuracy is about {ERROR} points."
    )
    parts = [f"## The paper's experiments, at a small size\n\nMade by `{COMMAND}`.\n\n{head}"]
    parts += [part for part in (_layers(lines), _inputs(lines), _earlier(lines, earlier)) if part]
    return "\n\n".join(parts)


def _earlier(lines: Sequence[Line], earlier: Sequence[Line]) -> str:
    """What a run on other machines gave: the same code and seeds, another rounding of the sums."""
    now, before = (_layer_scores(_by_seed(one, "layer"))[1] for one in (lines, earlier))
    if not now or not before:
        return ""
    orders = [
        np.array([of[name] for name in protocol.LAYER_METHODS])
        for of in (*({n: fmean(one[n]) for n in one} for one in (now, before)), PAPER_D)
    ]
    seeds = _listed(sorted({line["seed"] for line in earlier}))
    text = paragraph(
        f"Before, {len(earlier)} cells of seed {seeds} were run on two other machines. Their arithmetic "
        "differs in the last digits, so their networks differ as with another seed. The order of the "
        "statistics by D there has a rank correlation of "
        f"{_signed(rank_correlation(orders[1], orders[0]))} with the order above, and of "
        f"{_signed(rank_correlation(orders[1], orders[2]))} with the paper's."
    )
    return f"### The same on other machines\n\n{text}"


def _by_seed(lines: Sequence[Line], experiment: str) -> dict[int, Accuracy]:
    """The accuracies of the first seed, and of every other that has all of its cells."""
    found: dict[int, dict[tuple[str, str, float], float]] = {}
    for line in lines:
        if line["experiment"] == experiment:
            of_seed = found.setdefault(line["seed"], {})
            of_seed[line["method"], line["mode"], line["at"]] = line["accuracy"]
    if not found:
        return {}
    first = found[min(found)]
    return {seed: cells for seed, cells in sorted(found.items()) if first.keys() <= cells.keys()}


def _layer_scores(found: Mapping[int, Accuracy]) -> tuple[list[int], Scores, Scores, Scores]:
    """The complete layers; by statistic D and I of each seed over these, and I of each seed and layer."""
    methods = (*protocol.LAYER_METHODS, protocol.RANDOM)
    first = next(iter(found.values()), {})
    complete = [k for k in range(1, 6) if all((m, mode, k) in first for m in methods for mode in MODES)]
    differences: dict[str, list[float]] = {}
    information: dict[str, list[float]] = {}
    per_layer: dict[str, list[float]] = {}
    for method in protocol.LAYER_METHODS if complete else ():
        for cells in found.values():
            given = [
                [cells[m, mode, k] for k in complete] for m in (method, protocol.RANDOM) for mode in MODES
            ]
            differences.setdefault(method, []).append(difference_score(*given))
            information.setdefault(method, []).append(information_score(*given))
            single = [information_score([k], [r], [a], [b]) for k, r, a, b in zip(*given, strict=True)]
            per_layer.setdefault(method, []).extend(single)
    return complete, differences, information, per_layer


def _layers(lines: Sequence[Line]) -> str:
    """Accuracy per layer and statistic, D and I against the random map, over the layers that are complete."""
    found = _by_seed(lines, "layer")
    complete, differences, information, per_layer = _layer_scores(found)
    if not complete:
        return ""
    ordered = sorted(protocol.LAYER_METHODS, key=lambda method: -fmean(differences[method]))
    rows = []
    for method in (*ordered, protocol.RANDOM):
        means = [_percent(found, (method, mode, k)) for mode in MODES for k in complete]
        scores = ["", "", ""]
        if method != protocol.RANDOM:
            scores = [
                _of_seeds(differences[method]),
                _of_seeds(information[method]),
                f"{PAPER_D[method]:.2f}",
            ]
        rows.append([method, *means, *scores])
    head = ["statistic", *(f"{mode} L{k}" for mode in MODES for k in complete), "D", "I", "paper's D"]
    shares = quartile_shares(per_layer)
    quartiles = [[name, *(f"{100 * x:.0f} %" for x in row)] for name, row in shares.items()]
    text = paragraph(
        f"Accuracy in percent with activations masked at one scale; layers {_listed(complete)} of five. "
        f"{_means(found)}*Paper's D* is the mean of its three data sets over five layers of a ResNet-50: "
        f"only the order can be compared. {_agreement(differences, PAPER_D)}"
    )
    return "\n\n".join(
        [
            "### One scale masked",
            text,
            markdown_table(head, rows),
            "Share of the layers in which a statistic's information score is among the best:",
            markdown_table(["statistic", "top 25 %", "top 50 %", "top 75 %"], quartiles),
        ]
    )


def _inputs(lines: Sequence[Line]) -> str:
    """Accuracy after retraining on masked photos, as far as it was run."""
    found = {seed: _with_random_roar(cells) for seed, cells in _by_seed(lines, "input").items()}
    if not found:
        return ""
    first = next(iter(found.values()))
    methods = dict.fromkeys(method for method, _, _ in first)
    columns = [column for column in COLUMNS if any((method, *column) in first for method in methods)]
    compared = [column for column in columns if all((method, *column) in first for method in methods)]
    sums = {
        method: [
            sum(sign(mode) * 100 * cells[method, mode, at] for mode, at in compared)
            for cells in found.values()
        ]
        for method in methods
    }
    printed = {method: one for method in methods if (one := paper_sum(method, compared)) is not None}
    rows = []
    for method in sorted(methods, key=lambda method: -fmean(sums[method])):
        cells = [_percent(found, (method, *column)) for column in columns]
        of_paper = _signed(printed[method], 1) if method in printed else ""
        rows.append([method, *cells, _of_seeds(sums[method], 1), of_paper])
    head = ["map", *(_column(*column) for column in columns), "sum", "paper's sum"]
    text = paragraph(
        "Accuracy in percent of networks trained from scratch on masked photos. KAR keeps the most salient "
        f"pixels (higher is better), ROAR removes them (lower is better). {_means(found)}*Sum*: KAR minus "
        f"ROAR, over the columns that every map has ({_which(compared, columns)}); *paper's sum*: the same "
        "columns of its ResNet-50 on ImageNet, so only the order can be compared. "
        f"{_agreement(sums, printed)} The standard error of a sum of {len(compared)} columns is about "
        f"{ERROR * len(compared) ** 0.5:.1f} points, so rows next to each other are not told apart. Random "
        "pixels do well in KAR because scattered pixels show the whole "
        "photo; blobs are the fair control. What else differs from the paper: 64×64 pixels, a class map of "
        f"4×4, ten classes, objects in the centre, and {protocol.EPOCHS} epochs."
    )
    return f"### Photos masked\n\n{text}\n\n{markdown_table(head, rows)}"


def _with_random_roar(cells: Accuracy) -> Accuracy:
    """With ROAR of random pixels, which is KAR of the rest."""
    rest = {
        (protocol.RANDOM, "ROAR", round(1 - at, 2)): accuracy
        for (method, mode, at), accuracy in cells.items()
        if (method, mode) == (protocol.RANDOM, "KAR")
    }
    return rest | dict(cells)


def _agreement(scores: Mapping[str, Sequence[float]], papers: Mapping[str, float]) -> str:
    """In words: how far the order of the mean scores is the paper's, and how far the seeds differ."""
    names = [name for name in scores if name in papers]
    if len(names) < 4:
        return ""
    ours = np.array([fmean(scores[name]) for name in names])
    theirs = np.array([papers[name] for name in names])
    found = rank_correlation(ours, theirs)
    random = np.random.default_rng(0)
    as_good = sum(rank_correlation(random.permutation(ours), theirs) >= found for _ in range(ORDERS))
    said = (
        f"Rank correlation with the paper's order ({len(names)} rows): {_signed(found)}; "
        f"{100 * as_good / ORDERS:.0f} % of random orders agree as well."
    )
    seeds = np.array(list(scores.values())).T
    if len(seeds) > 1:
        between = fmean(abs(one[0] - one[1]) for one in scores.values())
        said += (
            f" The first two seeds differ by {between:.2g} on average, with a rank correlation of "
            f"{_signed(rank_correlation(seeds[0], seeds[1]))} between their orders."
        )
    return said


def _percent(found: Mapping[int, Accuracy], cell: tuple[str, str, float]) -> str:
    """The mean over the seeds; empty for a cell that was not run."""
    values = [cells[cell] for cells in found.values() if cell in cells]
    return f"{100 * fmean(values):.1f}" if values else ""


def _of_seeds(scores: Sequence[float], digits: int = 2) -> str:
    """The mean, and with several seeds the score of each."""
    each = f" ({', '.join(_signed(score, digits) for score in scores)})" if len(scores) > 1 else ""
    return _signed(fmean(scores), digits) + each


def _signed(value: float, digits: int = 2) -> str:
    return f"{value:.{digits}f}".replace("-", "−")


def _means(found: Mapping[int, Accuracy]) -> str:
    seeds = list(found)
    return f"Means of the seeds {_listed(seeds)}; in brackets each seed. " if len(seeds) > 1 else "One seed. "


def _which(compared: Sequence[tuple[str, float]], columns: Sequence[tuple[str, float]]) -> str:
    if len(compared) == len(columns):
        return "all"
    return ", ".join(_column(*column) for column in compared)


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def _column(mode: str, share: float) -> str:
    return f"{mode} {round(100 * share)} %"
