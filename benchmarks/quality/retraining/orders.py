"""Scores of the retraining over the seeds, and how far their order is the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
from fastcam_export.evaluate.measures.agreement import rank_correlation

from . import protocol
from .cells import MODES
from .paper_figures import COLUMNS, PAPER_D, paper_sum
from .scores import difference_score, information_score, retrain_sums

ORDERS = 10_000
"""How many random orders the order of the paper is compared with."""
FEWEST = 4
"""Rows below which an order means nothing."""

Line = Mapping[str, Any]
Masking = tuple[str, float]
"""KAR or ROAR, and where: the scale, or the share of the pixels."""
MethodMasking = tuple[str, str, float]
"""The method, and how it masks."""
Accuracy = Mapping[MethodMasking, float]
Scored = Mapping[str, Sequence[float]]
"""By method, the score of each seed."""


@dataclass(frozen=True)
class LayerScores:
    """The experiment `layer`, over the layers that are complete."""

    seeds: Mapping[int, Accuracy]
    complete: Sequence[int]
    differences: Scored
    """D."""
    information: Scored
    """I."""
    per_layer: Scored
    """I of each seed and layer."""

    @property
    def printed(self) -> Mapping[str, float]:
        """The paper's D."""
        return PAPER_D


@dataclass(frozen=True)
class InputScores:
    """The experiment `input`. A seed counts in a column where it has all maps, SmoothGrad² apart."""

    seeds: Mapping[Masking, Sequence[int]]
    """Those that count, by column; the columns that were begun."""
    means: Accuracy
    """Over these seeds."""
    compared: Sequence[Masking]
    """The columns that every map has, SmoothGrad² apart."""
    sums: Scored
    """KAR minus ROAR over these columns, in points: of each seed if all of them count everywhere, else of the
    means. Not of SmoothGrad² while it lacks columns."""
    printed: Mapping[str, float]
    """The paper's sums over the same columns, of the maps that it has."""


@dataclass(frozen=True)
class Agreement:
    """How far the order of some scores is the paper's."""

    rows: int
    correlation: float
    chance: float
    """The share of random orders that agree as well."""


def layer_scores(lines: Sequence[Line]) -> LayerScores:
    """D and I against the random map, of the first seed and of every other that has all of its cells."""
    every = _every_seed(lines, "layer")
    first = every[min(every)] if every else {}
    found = {seed: cells for seed, cells in every.items() if first.keys() <= cells.keys()}
    methods = (*protocol.LAYER_METHODS, protocol.RANDOM)
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
    return LayerScores(found, complete, differences, information, per_layer)


def input_scores(lines: Sequence[Line]) -> InputScores:
    """The sums, as far as the cells were run."""
    found = {seed: _with_random_roar(cells) for seed, cells in _every_seed(lines, "input").items()}
    first = found[min(found)] if found else {}
    methods = dict.fromkeys(method for method, _, _ in first)
    cheap = [method for method in methods if method != protocol.SMOOTHGRAD]
    seeds: dict[Masking, list[int]] = {}
    means: dict[MethodMasking, float] = {}
    for mode, at in COLUMNS:
        begun = [method for method in methods if (method, mode, at) in first]
        if not begun:
            continue
        needed = [(method, mode, at) for method in begun if method in cheap]
        seeds[mode, at] = [seed for seed, cells in found.items() if all(key in cells for key in needed)]
        for method in begun:
            key = (method, mode, at)
            means[key] = fmean(found[seed][key] for seed in seeds[mode, at] if key in found[seed])
    compared = [(mode, at) for mode, at in seeds if all((m, mode, at) in means for m in cheap)]
    whole = all(len(seeds[column]) == len(found) for column in compared)
    sums = {}
    for method in methods:
        needed = [(method, mode, at) for mode, at in compared]
        counted = [cells for cells in found.values() if all(key in cells for key in needed)]
        if all(key in means for key in needed):
            sums[method] = [
                retrain_sums({(mode, at): 100 * cells[method, mode, at] for mode, at in compared})[2]
                for cells in (counted if whole else [means])
            ]
    printed = {method: one for method in sums if (one := paper_sum(method, compared)) is not None}
    return InputScores(seeds, means, compared, sums, printed)


def agreement(scores: Scored, papers: Mapping[str, float]) -> Agreement | None:
    """With the order of the means; None if there are too few rows."""
    names = [name for name in scores if name in papers]
    if len(names) < FEWEST:
        return None
    ours = np.array([fmean(scores[name]) for name in names])
    theirs = np.array([papers[name] for name in names])
    found = rank_correlation(ours, theirs)
    random = np.random.default_rng(0)
    as_good = sum(rank_correlation(random.permutation(ours), theirs) >= found for _ in range(ORDERS))
    return Agreement(len(names), found, as_good / ORDERS)


def _every_seed(lines: Sequence[Line], experiment: str) -> dict[int, dict[MethodMasking, float]]:
    found: dict[int, dict[MethodMasking, float]] = {}
    for line in lines:
        if line["experiment"] == experiment:
            of_seed = found.setdefault(line["seed"], {})
            of_seed[line["method"], line["mode"], line["at"]] = line["accuracy"]
    return dict(sorted(found.items()))


def _with_random_roar(cells: Accuracy) -> Accuracy:
    """With ROAR of random pixels, which is KAR of the rest."""
    rest = {
        (protocol.RANDOM, "ROAR", round(1 - at, 2)): accuracy
        for (method, mode, at), accuracy in cells.items()
        if (method, mode) == (protocol.RANDOM, "KAR")
    }
    return rest | dict(cells)
