"""Tables for the terminal, numbers in sentences, and safe printing of text from files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_LONGEST = 80
"""Characters of a name or label that a message shows."""
_LONGEST_CELL = 200
"""Characters of a cell of a table: names that a user may copy into an option are shown whole."""
_LONGEST_LINE = 2_000
"""Characters of a whole message."""


def printable(text: str, most: int = _LONGEST) -> str:
    """A text from a file, safe for a terminal: one line, control characters escaped, long texts shortened.

    Example:
        >>> printable("tab\\x1b[31mby cat\\n"), printable("a" * 10, most=4)
        ('tab\\\\x1b[31mby cat', 'aaa…')
    """
    if len(text) > most:
        text = text[: most - 1] + "…"
    text = " ".join(text.split()) if not text.isprintable() else text
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shown(value: Any) -> str:
    """Any value as `printable`, for a message: texts in quotes."""
    return printable(repr(value if not isinstance(value, str) else value[:_LONGEST]))


def one_line(text: str) -> str:
    """A whole message on one line, even if a name in it has line breaks."""
    return printable(text, _LONGEST_LINE)


def many_lines(text: str) -> str:
    """A text of our own lines, each as `one_line` shows it."""
    return "\n".join(map(one_line, text.split("\n")))


def format_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Aligned columns: the first left-aligned, the others right-aligned.

    Example:
        >>> print(format_table(["ms", "p50"], [["overlay", "1.25"]]))
        ms        p50
        overlay  1.25
    """
    rows = [[printable(cell, _LONGEST_CELL) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = []
    for row in (head, *rows):
        first, *others = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        lines.append("  ".join([first.strip().ljust(widths[0]), *others]).rstrip())
    return "\n".join(lines)


def left_table(rows: Sequence[Sequence[str]]) -> str:
    """Aligned columns, all left-aligned; the first row is the header.

    Example:
        >>> print(left_table([["scale", "tensor"], ["1", "relu"]]))
        scale  tensor
        1      relu
    """
    rows = [[printable(cell, _LONGEST_CELL) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
    return "\n".join(lines)


def count(number: int, noun: str) -> str:
    """A number of things.

    Example:
        >>> count(1, "scale"), count(5, "scale")
        ('1 scale', '5 scales')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"
