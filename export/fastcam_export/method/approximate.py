"""Cheaper approximations of the maps: without some scales, or from their first channels only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import onnx_ir as ir

from ..analysis.taps import Tap
from ..authoring.branch import Branch
from ..errors import GraftError

MULTIPLE = 4
"""Channels are kept in multiples of this: the statistics are fastest on whole groups."""


@dataclass(frozen=True)
class Scales:
    """The scales that go into the maps."""

    taps: list[Tap]
    weights: tuple[float, ...]
    approximation: str = ""
    """A description of what was left out; empty if nothing was."""


def channels_read(channels: int, share: float) -> int:
    """The number of channels that this share reads, rounded up to a multiple of `MULTIPLE`."""
    return min(channels, math.ceil(share * channels / MULTIPLE) * MULTIPLE)


def thin(taps: Sequence[Tap], weights: Sequence[float], share: float | Sequence[float]) -> Scales:
    """Leave out channels, or whole scales. The weights of the remaining scales do not change.

    `share` is the part of the channels to read, 0…1, per scale or for all; 0 leaves the scale out.

    Raises:
        GraftError: A share is not between 0 and 1, their number is wrong, or nothing would be left.
    """
    shares = [share] * len(taps) if isinstance(share, float) else share
    if len(shares) != len(taps):
        raise GraftError(f"{len(shares)} channel shares for {len(taps)} scales")
    if not all(0 <= s <= 1 for s in shares) or not any(s * w for s, w in zip(shares, weights, strict=True)):
        raise GraftError(f"channel shares must be from 0 to 1 and leave a scale with a weight: {shares}")
    kept: list[tuple[Tap, float]] = []
    words: list[str] = []
    for tap, weight, part in zip(taps, weights, shares, strict=True):
        # Named by its size, because the remaining scales are renumbered.
        size = f"{tap.shape[2]}×{tap.shape[3]}"
        every = tap.shape[1]
        first = channels_read(every, part)
        if first == every:
            kept.append((tap, weight))
        elif first:
            kept.append((replace(tap, first=first), weight))
            words.append(f"scale {size} from its first {first} of {every} channels")
        else:
            words.append(f"without scale {size}")
    return Scales([tap for tap, _ in kept], tuple(weight for _, weight in kept), "; ".join(words))


def first_channels(branch: Branch, x: ir.Value, tap: Tap, where: str) -> ir.Value:
    """The channels of the activations N×C×H×W that the tap's statistic reads."""
    if tap.first is None:
        return x
    begin, end, axis = (
        branch.constant(f"{where}/{name}", np.array([number], np.int64))
        for name, number in (("begin", 0), ("end", tap.first), ("axis", 1))
    )
    return branch.node("Slice", x, begin, end, axis, name=f"{where}/channels")
