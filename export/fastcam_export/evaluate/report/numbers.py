"""Figures as text."""

from __future__ import annotations


def plain(value: float, digits: int = 3) -> str:
    """So many digits, with a typographic minus."""
    return f"{value:.{digits}f}".replace("-", "−")
