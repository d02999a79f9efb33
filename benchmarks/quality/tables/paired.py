"""Scores of the same pictures, compared picture by picture, and as text."""

from __future__ import annotations

from collections.abc import Sequence

from fastcam_export.evaluate.bootstrap import Estimate, estimate


def gap(one: Sequence[float], other: Sequence[float]) -> Estimate:
    """The mean of the differences, with its 95 % interval."""
    return estimate([a - b for a, b in zip(one, other, strict=True)])


def signed(value: float, digits: int = 3) -> str:
    """So many digits, with a sign and a typographic minus."""
    return f"{value:+.{digits}f}".replace("-", "−")


def plain(value: float, digits: int = 3) -> str:
    """So many digits; only a minus is written."""
    return signed(value, digits).removeprefix("+")


def interval(found: Estimate) -> str:
    """`[−0.010, +0.020]`"""
    return f"[{signed(found.low)}, {signed(found.high)}]"
