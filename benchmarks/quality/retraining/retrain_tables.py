"""The retraining's results as tables of docs/quality.md, beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

import numpy as np
from fastcam_export.evaluate.measures.agreement import rank_correlation
from fastcam_export.evaluate.report.numbers import plain

from ...tables.markdown import markdown_table, paragraph
from ..tables.figures import agreeing, listed
from . import protocol
from .cells import MODES, accuracies, planned
from .orders import Accuracy, InputScores, Line, Masking, Scored, agreement, input_scores, layer_scores
from .paper_figures import PAPER_D, PAPER_D_RECOMPUTED, PAPER_I, PAPER_QUARTILES
from .scores import quartile_shares

COMMAND = "python -m benchmarks.quality.retrain --hours 2"
PHOTOS, ERROR = 3_925, 0.8
"""The validation photos, and the standard error of an accuracy of some 55 % of them, in points."""


def retrain_section(lines: Sequence[Line], earlier: Sequence[Line] = ()) -> str:
    """Both experiments, as far as they were run; `earlier` is a run on other machines."""
    if not lines:
        return ""
    seeds = sorted({line["seed"] for line in lines})
    whole = {line["seed"]: line["accuracy"] for line in lines if line["experiment"] == "whole"}
    bases = " and ".join(f"{100 * whole[seed]:.1f} % (seed {seed})" for seed in seeds if seed in whole)
    run, every = len(accuracies(lines)), sum(1 for _ in planned())
    rest = " The command continues with the remaining cells." if run < every else ""
    head = paragraph(
        f"Imagenette at 64×64, a small ResNet of five scales trained from scratch in {protocol.EPOCHS} "
        f"epochs{': the accuracy on whole validation photos is ' + bases if bases else ''}. "
        f"Training takes every second photo. Run: {run} of {every} cells, {_named(seeds)}.{rest} "
        f"That the {PHOTOS:,} validation photos are a sample gives one accuracy a standard error of about "
        f"{ERROR} points; training with another seed adds to it."
    )
    parts = [f"## The paper's experiments, at a small size\n\nMade by `{COMMAND}`.\n\n{head}"]
    parts += [part for part in (_layers(lines), _inputs(lines), _earlier(lines, earlier)) if part]
    return "\n\n".join(parts)


def _earlier(lines: Sequence[Line], earlier: Sequence[Line]) -> str:
    """What a run on other machines gave: the same code and seeds, another rounding of the sums."""
    now, before = (layer_scores(one).differences for one in (lines, earlier))
    if not now or not before:
        return ""
    orders = [
        np.array([of[name] for name in protocol.LAYER_METHODS])
        for of in (*({n: fmean(one[n]) for n in one} for one in (now, before)), PAPER_D)
    ]
    seeds = _named(sorted({line["seed"] for line in earlier}))
    text = paragraph(
        f"Before, {len(accuracies(earlier))} cells of {seeds} were run on two other machines. Their "
        "arithmetic differs in the last digits, so their networks differ as with another seed. The order of "
        "the statistics by D there has a rank correlation of "
        f"{plain(rank_correlation(orders[1], orders[0]), 2)} with the order above, and of "
        f"{plain(rank_correlation(orders[1], orders[2]), 2)} with the paper's."
    )
    return f"### The same on other machines\n\n{text}"


def _layers(lines: Sequence[Line]) -> str:
    """Accuracy per layer and statistic, D and I against the random map, over the layers that are complete."""
    found = layer_scores(lines)
    complete, differences = found.complete, found.differences
    if not complete:
        return ""
    ordered = sorted(protocol.LAYER_METHODS, key=lambda method: -fmean(differences[method]))
    rows = []
    for method in (*ordered, protocol.RANDOM):
        means = [_percent(found.seeds, (method, mode, k)) for mode in MODES for k in complete]
        scores = [""] * 4
        if method != protocol.RANDOM:
            scores = [
                _of_seeds(differences[method]),
                _of_seeds(found.information[method]),
                f"{PAPER_D[method]:.2f}",
                f"{PAPER_I[method]:.2f}",
            ]
        rows.append([method, *means, *scores])
    columns = [f"{mode} L{k}" for mode in MODES for k in complete]
    head = ["statistic", *columns, "D", "I", "paper's D", "paper's I"]
    shares = quartile_shares(found.per_layer)
    quartiles = [
        [name, *(f"{100 * x:.0f} %" for x in shares[name]), *(f"{x:.0f} %" for x in PAPER_QUARTILES[name])]
        for name in ordered
    ]
    tops = [f"top {share} %" for share in (25, 50, 75)]
    layers = listed([str(layer) for layer in complete])
    text = paragraph(
        f"Accuracy in percent with activations masked at one scale; layers {layers} of five. "
        f"{_means(list(found.seeds))}*Paper's D* and *I* are the means of its three data sets over five "
        f"layers of a ResNet-50: only the order can be compared. {_agreement(differences, found.printed)} "
        f"{_recomputed(differences)}"
    )
    return "\n\n".join(
        [
            "### One scale masked",
            text,
            markdown_table(head, rows),
            paragraph(
                "Share of the layers in which a statistic's information score is among the best; in the "
                "paper, of its layers and data sets:"
            ),
            markdown_table(["statistic", *tops, *(f"paper's {top}" for top in tops)], quartiles),
        ]
    )


def _recomputed(differences: Scored) -> str:
    """The same comparison without the paper's slip."""
    found = agreement(differences, PAPER_D_RECOMPUTED)
    if found is None:
        return ""
    return (
        "Seven of the paper's nine D on ImageNet do not follow from its own accuracies; with D computed from "
        f"them the correlation is {plain(found.correlation, 2)}."
    )


def _inputs(lines: Sequence[Line]) -> str:
    """Accuracy after retraining on masked photos, as far as it was run."""
    found = input_scores(lines)
    if not found.seeds:
        return ""
    columns, compared, sums, printed = list(found.seeds), found.compared, found.sums, found.printed
    rows = []
    methods = dict.fromkeys(method for method, _, _ in found.means)
    for method in sorted(methods, key=lambda method: -fmean(sums.get(method, [float("-inf")]))):
        values = [found.means.get((method, mode, at)) for mode, at in columns]
        cells = ["" if value is None else f"{100 * value:.1f}" for value in values]
        total = _of_seeds(sums[method], 1) if method in sums else ""
        rows.append([method, *cells, total, plain(printed[method], 1) if method in printed else ""])
    head = ["map", *(_column(*column) for column in columns), "sum", "paper's sum"]
    text = paragraph(
        "Accuracy in percent of networks trained from scratch on masked photos. KAR keeps the most salient "
        f"pixels (higher is better), ROAR removes them (lower is better). {_seeds_of(found)}*Sum*: KAR "
        f"minus ROAR, over the columns that every map has ({_which(compared, columns)}). *Paper's sum*: the "
        "same columns of its ResNet-50 on ImageNet, so only the order can be compared. "
        f"{_agreement(sums, printed)} Random pixels do well in KAR, probably because scattered pixels show "
        "the whole photo, and so may the scattered ones of SmoothGrad²; blobs are the fair control. What "
        "else differs from the paper and may be a reason: 64×64 pixels, a class map of 4×4, ten classes, "
        f"objects in the centre, and {protocol.EPOCHS} epochs."
    )
    return f"### Photos masked\n\n{text}\n\n{markdown_table(head, rows)}"


def _agreement(scores: Scored, papers: Mapping[str, float]) -> str:
    """In words: how far the order of the mean scores is the paper's, and how far the seeds differ."""
    found = agreement(scores, papers)
    if found is None:
        return ""
    said = (
        f"Rank correlation with the paper's order: {plain(found.correlation, 2)} "
        f"({agreeing(found.rows, found.chance)})."
    )
    pairs = [one for one in scores.values() if len(one) > 1]
    if pairs:
        seeds = np.array(pairs).T
        between = fmean(abs(one[0] - one[1]) for one in pairs)
        said += (
            f" The first two seeds differ by {between:.2g} on average, with a rank correlation of "
            f"{plain(rank_correlation(seeds[0], seeds[1]), 2)} between their orders."
        )
    return said


def _percent(found: Mapping[int, Accuracy], cell: tuple[str, str, float]) -> str:
    """The mean over the seeds; empty for a cell that was not run."""
    values = [cells[cell] for cells in found.values() if cell in cells]
    return f"{100 * fmean(values):.1f}" if values else ""


def _of_seeds(scores: Sequence[float], digits: int = 2) -> str:
    """The mean, and with several seeds the score of each."""
    each = f" ({', '.join(plain(score, digits) for score in scores)})" if len(scores) > 1 else ""
    return plain(fmean(scores), digits) + each


def _means(seeds: Sequence[int]) -> str:
    return f"Means of {_named(seeds)}; in brackets each seed. " if len(seeds) > 1 else "One seed. "


def _seeds_of(found: InputScores) -> str:
    """Which seeds are in which columns."""
    groups: dict[tuple[int, ...], list[Masking]] = {}
    for column, seeds in found.seeds.items():
        groups.setdefault(tuple(seeds), []).append(column)
    if len(groups) == 1:
        return _means(next(iter(groups)))
    parts = (f"{_named(seeds)} in {_which(columns, [])}" for seeds, columns in groups.items())
    return f"Means of {'; '.join(parts)}. "


def _which(compared: Sequence[tuple[str, float]], columns: Sequence[tuple[str, float]]) -> str:
    if len(compared) == len(columns):
        return "all"
    return ", ".join(_column(*column) for column in compared)


def _named(seeds: Sequence[int]) -> str:
    """`seed 0` or `seeds 0 and 1`"""
    return f"seed{'s' if len(seeds) > 1 else ''} {' and '.join(map(str, seeds))}"


def _column(mode: str, share: float) -> str:
    return f"{mode} {round(100 * share)} %"
