"""Whether one map is better than another, network by network, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fastcam_export.evaluate.bootstrap import Estimate, estimate_difference

from ..reference import Scores
from .figures import listed

BETTER, SAME, WORSE = "better", "not shown to differ", "worse"


def verdict(one: Sequence[float], other: Sequence[float]) -> str:
    """What the 95 % interval of the paired difference says."""
    return of_difference(estimate_difference(one, other))


def of_difference(found: Estimate) -> str:
    """What an interval of a paired difference says."""
    if not found.excludes_zero:
        return SAME
    return BETTER if found.mean > 0 else WORSE


def by_verdict(scores: Scores, name: str, other: str) -> Mapping[str, list[str]]:
    """The networks on which a map is better than another, not shown to differ, and worse."""
    found: dict[str, list[str]] = {word: [] for word in (BETTER, SAME, WORSE)}
    for network, maps in scores.items():
        if name in maps and other in maps:
            found[verdict(maps[name], maps[other])].append(network)
    return {word: networks for word, networks in found.items() if networks}


def compared(scores: Scores, name: str, other: str) -> str:
    """`better on A and B, not shown to differ on C`; empty if no network has both maps."""
    found = by_verdict(scores, name, other)
    return ", ".join(f"{word} on {listed(networks)}" for word, networks in found.items())
