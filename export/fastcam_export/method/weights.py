"""The weight of each scale in the combination."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..choices import WEIGHTS
from ..errors import GraftError

PRIOR = (0.18, 0.15, 0.37, 0.4, 0.72)
"""The paper's weights for networks of five scales, shallow to deep."""


def scale_weights(asked: str | Sequence[float] | None, scales: int) -> tuple[float, ...]:
    """One weight per scale, from a name of `WEIGHTS`, a list, or its text `w1,w2,…`.

    None means `prior` for five scales and `linear` for other numbers.

    Raises:
        GraftError: An unknown name, the wrong number of weights, or weights without a positive sum.
    """
    if asked is None:
        asked = "prior" if scales == len(PRIOR) else "linear"
    if isinstance(asked, str) and asked in WEIGHTS:
        return _preset(asked, scales)
    weights = _numbers(asked)
    if len(weights) != scales:
        raise GraftError(f"{len(weights)} weights for {scales} scales")
    if not all(math.isfinite(w) and w >= 0 for w in weights) or sum(weights) <= 0:
        raise GraftError(f"weights must be finite, not negative, and not all zero: {weights}")
    return weights


def _numbers(asked: str | Sequence[float]) -> tuple[float, ...]:
    try:
        return tuple(float(w) for w in (asked.split(",") if isinstance(asked, str) else asked))
    except (TypeError, ValueError):
        named = f"named '{asked}'" if isinstance(asked, str) else f"in {asked!r}"
        raise GraftError(
            f"no weights {named}: use one of {', '.join(WEIGHTS)}, or a list of numbers"
        ) from None


def _preset(name: str, scales: int) -> tuple[float, ...]:
    if name == "equal":
        return (1.0,) * scales
    if name == "linear":
        return tuple(float(k) for k in range(1, scales + 1))
    if scales != len(PRIOR):
        raise GraftError(f"the weights 'prior' are for {len(PRIOR)} scales, this network has {scales}")
    return PRIOR
