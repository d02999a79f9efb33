"""The paper's arithmetic: difference and information scores, quartiles, and sums of KAR and ROAR."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

QUARTERS = (0.25, 0.5, 0.75)


def difference_score(
    kar: Sequence[float], roar: Sequence[float], random_kar: Sequence[float], random_roar: Sequence[float]
) -> float:
    """D: how much more accuracy KAR keeps, and ROAR removes, than a random map; accuracies are 0…1."""
    taken = sum(z - r for r, z in zip(roar, random_roar, strict=True))
    kept = sum(k - z for k, z in zip(kar, random_kar, strict=True))
    return taken + kept


def information_score(
    kar: Sequence[float], roar: Sequence[float], random_kar: Sequence[float], random_roar: Sequence[float]
) -> float:
    """I: the same as information gains. The paper's formula has log2, its table the natural logarithm."""
    taken = sum(-r * math.log(r / z) for r, z in zip(roar, random_roar, strict=True))
    kept = sum(-z * math.log(z / k) for k, z in zip(kar, random_kar, strict=True))
    return taken + kept


def quartile_shares(scores: Mapping[str, Sequence[float]]) -> dict[str, tuple[float, ...]]:
    """The share of conditions in which each method is among the best 25, 50 and 75 % of the methods.

    Args:
        scores: By method, one score per condition, higher is better.
    """
    methods = list(scores)
    limits = [quarter * (len(methods) - 1) for quarter in QUARTERS]
    counts = {method: [0] * len(QUARTERS) for method in methods}
    conditions = len(scores[methods[0]])
    for condition in range(conditions):
        for method in methods:
            better = sum(scores[other][condition] > scores[method][condition] for other in methods)
            for number, limit in enumerate(limits):
                counts[method][number] += better <= limit
    return {method: tuple(n / conditions for n in found) for method, found in counts.items()}


def retrain_sums(accuracies: Mapping[tuple[str, float], float]) -> tuple[float, float, float]:
    """The sum of the KAR accuracies, minus that of the ROAR accuracies, and the two together.

    Args:
        accuracies: By `KAR` or `ROAR`, and the share of the pixels.
    """
    kar = sum(accuracy for (mode, _), accuracy in accuracies.items() if mode == "KAR")
    roar = sum(accuracy for (mode, _), accuracy in accuracies.items() if mode == "ROAR")
    return kar, -roar, kar - roar
