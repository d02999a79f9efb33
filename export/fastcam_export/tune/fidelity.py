"""How similar a map is to the exact one: rank correlation, and overlap of the most salient pixels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from fastcam_runtime.image import Array

from ..evaluate.measures.agreement import rank_correlation

TOP = 0.1
"""The share of all pixels that counts as the most salient ones."""


@dataclass(frozen=True)
class Fidelity:
    """The similarity of two maps, picture by picture; 1 is the same map."""

    spearman: tuple[float, ...]
    overlap: tuple[float, ...]

    @classmethod
    def between(cls, exact: Sequence[Array], other: Sequence[Array]) -> Fidelity:
        """Compare the maps of the same pictures, at least one, in the same sizes."""
        pairs = list(zip(exact, other, strict=True))
        return cls(tuple(spearman(a, b) for a, b in pairs), tuple(top_overlap(a, b) for a, b in pairs))

    @property
    def mean(self) -> tuple[float, float]:
        """Spearman and overlap, averaged over the pictures."""
        return float(np.mean(self.spearman)), float(np.mean(self.overlap))

    @property
    def worst(self) -> tuple[float, float]:
        """The lowest Spearman and the lowest overlap of all pictures."""
        return min(self.spearman), min(self.overlap)


def spearman(a: Array, b: Array) -> float:
    """Spearman's rank correlation of two maps of one size; 1 if both are constant."""
    return 1.0 if np.ptp(a) == np.ptp(b) == 0 else rank_correlation(a, b)


def top_overlap(a: Array, b: Array) -> float:
    """The share of the most salient pixels of `a` that are also among the most salient of `b`, 0…1.

    Both masks hold exactly `TOP` of the pixels (at least one); ties go to the first pixels.
    """
    count = max(1, round(TOP * a.size))
    first, second = (np.argsort(-values.ravel(), kind="stable")[:count] for values in (a, b))
    return np.intersect1d(first, second, assume_unique=True).size / count
