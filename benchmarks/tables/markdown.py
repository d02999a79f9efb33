"""Markdown as the documents of this project have it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

WIDTH = 120


def paragraph(text: str, indent: str = "") -> str:
    """`text` in lines of at most `WIDTH` characters, all but the first after `indent`."""
    return textwrap.fill(
        text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table with the first column left-aligned and the others right-aligned."""
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def percent_cell(middle: float, interval: Sequence[float]) -> str:
    """A signed percentage and its interval: `+1.5 % [1.2, 1.9]`."""
    low, high = interval
    return f"{middle:+.1f} % [{low:.1f}, {high:.1f}]".replace("-", "−")
