"""Figures as text."""

from __future__ import annotations


def plain(value: float, digits: int = 3) -> str:
    """So many digits, with a typographic minus."""
    return f"{value:.{digits}f}".replace("-", "−")


def rounded(value: float, digits: int = 3) -> str:
    """The same; what rounds to 0 has no sign."""
    return _without_sign_of_zero(plain(value, digits))


def signed(value: float, digits: int = 3) -> str:
    """The same as `rounded`, with a plus in front of positive numbers."""
    return _without_sign_of_zero(f"{value:+.{digits}f}".replace("-", "−"))


def _without_sign_of_zero(text: str) -> str:
    return text if text.strip("+−0.") else text.lstrip("+−")
