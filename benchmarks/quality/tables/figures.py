"""Figures as text of docs/quality.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastcam_export.evaluate.bootstrap import Estimate
from fastcam_export.evaluate.report.numbers import plain


def signed(value: float, digits: int = 3) -> str:
    """So many digits, with a sign and a typographic minus."""
    return f"{'+' if value >= 0 else ''}{plain(value, digits)}"


def interval(found: Estimate | Mapping[str, Any], digits: int = 3) -> str:
    """`[−0.010, +0.020]`, of an estimate or of one in a file of results."""
    low, high = (found.low, found.high) if isinstance(found, Estimate) else (found["low"], found["high"])
    return f"[{signed(low, digits)}, {signed(high, digits)}]"


def listed(words: Sequence[str]) -> str:
    """`A, B and C`"""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def agreeing(rows: int, chance: float) -> str:
    """`9 rows; 4 % of random orders agree as well`"""
    share = f"{100 * chance:.0f} %" if chance >= 0.01 else "under 1 %"
    return f"{rows} rows; {share} of random orders agree as well"
