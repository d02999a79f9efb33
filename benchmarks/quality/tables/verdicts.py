"""Whether one map is better than another, network by network, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..reference import Scores
from .paired import gap

BETTER, SAME, WORSE = "better", "not shown to differ", "worse"


def verdict(one: Sequence[float], other: Sequence[float]) -> str:
    """What the 95 % interval of the paired difference says."""
    found = gap(one, other)
    return BETTER if found.low > 0 else WORSE if found.high < 0 else SAME


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


def listed(words: Sequence[str]) -> str:
    """`A, B and C`"""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
