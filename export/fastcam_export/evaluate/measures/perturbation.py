"""Insertion, deletion, average drop: the network's score while pixels change in the map's order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from ..controls import unit
from .baselines import Tensor
from .masks import top

LEVELS = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
"""Shares of the pixels, in the order of the map, at which the network is run."""

Ask = Callable[[Iterable[Tensor]], NDArray[np.float64]]
"""The probability of the class in question for each of the tensors, which are made when they are needed."""


def area(values: NDArray[np.float64]) -> float:
    """The area under a curve over `LEVELS`, which span 0…1: the mean height."""
    return float((np.diff(LEVELS) * (values[1:] + values[:-1]) / 2).sum())


def curves(
    tensor: Tensor, baseline: Tensor, ranks: Mapping[str, NDArray[np.int32]], ask: Ask
) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Insertion and deletion curves over `LEVELS` for each ranking of the pixels.

    Insertion starts with the baseline and inserts the picture's most salient pixels. Deletion starts with the
    picture and replaces them by the baseline. All rankings share both ends.
    """
    inner = LEVELS[1:-1]

    def versions() -> Iterator[Tensor]:
        yield from (baseline, tensor)
        for rank in ranks.values():
            yield from (np.where(top(rank, level), tensor, baseline) for level in inner)
            yield from (np.where(top(rank, level), baseline, tensor) for level in inner)

    answers = ask(versions())
    first, last = answers[0], answers[1]
    found = {}
    for name, part in zip(ranks, answers[2:].reshape(-1, 2, len(inner)), strict=True):
        found[name] = np.array([first, *part[0], last]), np.array([last, *part[1], first])
    return found


def drops(
    tensor: Tensor, baseline: Tensor, maps: Mapping[str, NDArray[np.float32]], ask: Ask, whole: float
) -> dict[str, tuple[float, float]]:
    """Average drop and increase: the picture is blended with the baseline, by the map.

    Returns for each map the relative drop of the probability, 0 if it rises, and whether it rises above that
    of the `whole` picture. The maps are stretched to 0…1 first, as in other implementations.
    """
    answers = ask(baseline + unit(values) * (tensor - baseline) for values in maps.values())
    return {
        name: (max(0.0, whole - answer) / max(whole, 1e-12), float(answer > whole))
        for name, answer in zip(maps, answers.tolist(), strict=True)
    }
