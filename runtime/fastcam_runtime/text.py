"""Tables for the terminal, and numbers in sentences."""

from __future__ import annotations

from collections.abc import Sequence


def format_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns of equal width: the first to the left, the others to the right.

    Example:
        >>> print(format_table(["ms", "p50"], [["overlay", "1.25"]]))
        ms        p50
        overlay  1.25
    """
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = []
    for row in (head, *rows):
        first, *others = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        lines.append("  ".join([first.strip().ljust(widths[0]), *others]).rstrip())
    return "\n".join(lines)


def left_table(rows: Sequence[Sequence[str]]) -> str:
    """Columns of equal width, all of them to the left; the first row is the head.

    Example:
        >>> print(left_table([["scale", "tensor"], ["1", "relu"]]))
        scale  tensor
        1      relu
    """
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
