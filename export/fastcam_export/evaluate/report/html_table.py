"""Tables and lists of the page."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html import escape

from ..metrics import METRICS

_FIGURE = re.compile(r"([^ *(\[]+)([ *]?)([(\[].*)?")
"""A mean, the star of the best one, and the interval, as the tables for the terminal have them."""


def html_table(rows: Sequence[Sequence[str]], kind: str = "") -> str:
    """The first row is the head; the first column stays in view while the others are scrolled."""
    return _table(rows, _plain, kind)


def figure_table(rows: Sequence[Sequence[str]]) -> str:
    """The same for rows of figures: intervals stand below their means, and the best ones are marked."""
    return _table(rows, _figure)


def directed(titles: Sequence[str]) -> tuple[str, ...]:
    """The heads of metrics, with an arrow towards what is better."""
    better = {metric.title: "↑" if metric.higher_is_better else "↓" for metric in METRICS.values()}
    return tuple(f"{title} {better[title]}" if title in better else title for title in titles)


def html_list(items: Sequence[str]) -> str:
    """Nothing if there are no items."""
    return f"<ul>{''.join(f'<li>{escape(item)}</li>' for item in items)}</ul>" if items else ""


def _table(rows: Sequence[Sequence[str]], cell_of: Callable[[str], str], kind: str = "") -> str:
    head, *body = rows
    cells = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    lines = "".join(f"<tr>{_plain(name)}{''.join(map(cell_of, others))}</tr>" for name, *others in body)
    return f'<div class="scroll"><table class="{kind}"><tr>{cells}</tr>{lines}</table></div>'


def _plain(cell: str) -> str:
    return f"<td>{escape(cell)}</td>"


def _figure(cell: str) -> str:
    match = _FIGURE.fullmatch(cell.strip())
    if match is None:
        return _plain(cell)
    mean, star, interval = match.groups()
    best, mark = (' class="best"', "*") if star == "*" else ("", "")
    return f"<td{best}>{escape(mean)}{mark}<i>{escape(interval or '')}</i></td>"
