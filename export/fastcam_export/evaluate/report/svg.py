"""Small plots as SVG text, for a self-contained page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import isfinite

from ..bootstrap import Estimate
from .numbers import rounded

COLOURS = ("#1f6feb", "#d1242f", "#8250df", "#9a6700", "#57606a", "#1a7f37", "#bf3989", "#0a7ea4")
_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 404, 280, 46, 40, 26
_PER_ROW = 3
"""Names of curves in a row below the plot."""

PERCENT = {share: f"{round(100 * share)} %" for share in (0, 0.25, 0.5, 0.75, 1)}


def lines(
    title: str,
    across: Sequence[float],
    curves: Mapping[str, Sequence[float]],
    note: str,
    ticks: Mapping[float, str] = PERCENT,
) -> str:
    """Curves over 0…1, with their names below; `ticks` and `note` stand under the axis.

    A line marks 0 if values are negative. Those that are not numbers are left out.
    """
    every = [value for values in curves.values() for value in values if isfinite(value)]
    ends = min(0.0, *every, 0.0), max(1e-9, *every, 0.0)
    parts = [_frame(title, note, ends, ticks)]
    for number, (name, values) in enumerate(curves.items()):
        points = " ".join(
            f"{_x(x):.1f},{_y(value, ends):.1f}"
            for x, value in zip(across, values, strict=True)
            if isfinite(value)
        )
        colour = COLOURS[number % len(COLOURS)]
        dash = ' stroke-dasharray="4 3"' if number >= 3 else ""
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>'
            f"{_named(number, name, colour, dash)}"
        )
    return _svg(_WIDTH + 22, _HEIGHT + 18 * -(-len(curves) // _PER_ROW), "".join(parts))


def bars(title: str, values: Mapping[str, Estimate], width: int = 330, left: int = 150) -> str:
    """Means with their intervals, one row each, unless an interval is not known; a line marks 0.

    The bars are at most `width` wide, and begin at `left`, behind the names.
    """
    ends = [end for one in values.values() for end in (one.low, one.mean, one.high) if isfinite(end)]
    low, high = min(0.0, *ends), max(1e-9, *ends)
    row = 24

    def x(value: float) -> float:
        return left + width * (value - low) / (high - low)

    parts = [f'<text x="0" y="16" font-weight="600">{escape(title)}</text>']
    for number, (name, one) in enumerate(values.items()):
        y = 30 + row * number
        start, end = sorted((x(0), x(one.mean)))
        whisker = ""
        if isfinite(one.low):
            ends_at = f'x1="{x(one.low):.1f}" x2="{x(one.high):.1f}" y1="{y + 8}" y2="{y + 8}"'
            whisker = f'<line {ends_at} stroke="#24292f"/>'
        parts.append(
            f'<text x="{left - 8}" y="{y + 13}" text-anchor="end">{escape(name)}</text>'
            f'<rect x="{start:.1f}" y="{y}" width="{end - start:.1f}" height="16" fill="{_shade(number)}"/>'
            f"{whisker}"
            f'<text x="{left + width + 8}" y="{y + 13}">{rounded(one.mean)}</text>'
        )
    height = 36 + row * len(values)
    parts.append(f'<line x1="{x(0):.1f}" x2="{x(0):.1f}" y1="26" y2="{height - 6}" stroke="#8c959f"/>')
    return _svg(left + width + 60, height, "".join(parts))


def _named(number: int, name: str, colour: str, dash: str) -> str:
    """The name of a curve below the plot, beside a piece of its line."""
    x = _LEFT + number % _PER_ROW * (_WIDTH - _LEFT) / _PER_ROW
    y = _HEIGHT + 12 + 18 * (number // _PER_ROW)
    return (
        f'<path d="M{x:.0f} {y - 4}h22" stroke="{colour}" stroke-width="2"{dash}/>'
        f'<text x="{x + 28:.0f}" y="{y}" fill="{colour}">{escape(name)}</text>'
    )


def _frame(title: str, note: str, ends: tuple[float, float], ticks: Mapping[float, str]) -> str:
    low, high = ends
    marks = "".join(
        f'<text x="{_x(share):.0f}" y="{_y(low, ends) + 16}" text-anchor="middle">{escape(tick)}</text>'
        for share, tick in ticks.items()
    )
    values = [k / 4 * high for k in range(5)]
    if low < -high / 10:  # nearer to 0 its label would cover that of 0
        values.append(low)
    grid = "".join(
        f'<line x1="{_LEFT}" x2="{_WIDTH}" y1="{_y(value, ends):.1f}" y2="{_y(value, ends):.1f}" '
        f'stroke="{"#8c959f" if low < 0 and value == 0 else "#d0d7de"}"/>'
        f'<text x="{_LEFT - 6}" y="{_y(value, ends) + 4:.1f}" text-anchor="end">{rounded(value, 2)}</text>'
        for value in values
    )
    return (
        f'<text x="0" y="16" font-weight="600">{escape(title)}</text>{grid}{marks}'
        f'<text x="{(_LEFT + _WIDTH) / 2}" y="{_HEIGHT - 6}" text-anchor="middle" fill="#57606a">'
        f"{escape(note)}</text>"
    )


def _x(share: float) -> float:
    return _LEFT + share * (_WIDTH - _LEFT)


def _y(value: float, ends: tuple[float, float]) -> float:
    low, high = ends
    return _HEIGHT - _BOTTOM - (value - low) / (high - low) * (_HEIGHT - _BOTTOM - _TOP)


def _shade(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def _svg(width: float, height: float, content: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'font-family="system-ui,sans-serif" font-size="12" fill="#24292f">{content}</svg>'
    )
