"""The legends of the contact sheet, side by side."""

from __future__ import annotations

from fastcam_runtime.draw.legend import MUTED, lovi_colors, map_colors
from fastcam_runtime.draw.lettering import Lettering
from fastcam_runtime.image import Image, Rect


def legend_height(letters: Lettering) -> int:
    """The height that `draw_legend` needs, in pixels."""
    return _bar_height(letters) + 2 * letters.height


def draw_legend(sheet: Image, x: int, y: int, width: int, letters: Lettering, scales: int) -> None:
    """Draw both legends side by side into a BGR picture, in place, with the upper left corner at x, y.

    `width` is that of one bar; both with their texts take 3½ times as much, and `legend_height` tells the
    height.
    """
    height = _bar_height(letters)
    values = Rect(x, y, width, height)
    values.of(sheet)[:] = map_colors(values.width, values.height)
    for along, word in ((0.0, "low: the frame as it is"), (1.0, "high")):
        _write_tick(sheet, letters, word, values, along)
    letters.put(sheet, "where the network looks", *_beside(values, letters, 0.5), MUTED)

    hues = Rect(x + width * 7 // 4, y, width, height)
    hues.of(sheet)[:] = lovi_colors(hues.width, hues.height)
    for k in range(scales):
        _write_tick(sheet, letters, f"{k + 1}", hues, k / max(1, scales - 1))
    before = hues.x - letters.width("scale") - letters.height
    letters.put(sheet, "scale", before, _tick_line(hues, letters), MUTED)
    letters.put(sheet, "LOVI: one scale alone", *_beside(hues, letters, 0), MUTED)
    letters.put(sheet, "all scales alike", *_beside(hues, letters, 1), MUTED)


def _bar_height(letters: Lettering) -> int:
    return 3 * letters.height


def _write_tick(sheet: Image, letters: Lettering, text: str, bar: Rect, along: float) -> None:
    """Write a tick label below a bar, centred at `along` (0…1) of its width but not beyond its ends."""
    width = letters.width(text)
    x = round(bar.x + along * bar.width - width / 2)
    x = max(bar.x, min(bar.x + bar.width - width, x))
    letters.put(sheet, text, x, _tick_line(bar, letters), MUTED)


def _tick_line(bar: Rect, letters: Lettering) -> int:
    """The baseline of the tick labels below a bar."""
    return bar.y + bar.height + 2 * letters.height


def _beside(bar: Rect, letters: Lettering, down: float) -> tuple[int, int]:
    """The start of a line of text at the right of a bar, from its top (`down` 0) to its bottom (1)."""
    baseline = bar.y + letters.height + round(down * (bar.height - letters.height))
    return bar.x + bar.width + letters.height, baseline
