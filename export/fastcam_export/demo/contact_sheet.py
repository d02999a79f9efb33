"""The contact sheet: a row for each frame, a column for each map, with titles, labels and a legend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from fastcam_runtime import Explanation, Overlay, contract
from fastcam_runtime.contract import Metadata
from fastcam_runtime.draw.legend import MUTED
from fastcam_runtime.draw.lettering import Lettering, plain
from fastcam_runtime.draw.views import Painter
from fastcam_runtime.image import Array, Image, Rect

from .legend import draw_legend, legend_height

FRAME = "frame"
"""The column that shows the frame itself; every other column shows an output of the file."""

_GROUND = (28, 23, 20)


@dataclass(frozen=True)
class Row:
    """One frame of the clip, explained."""

    seconds: float
    frame: Image
    explanation: Explanation


@dataclass(frozen=True)
class Column:
    """A column of the sheet: it shows `FRAME`, or the output of this name."""

    shows: str
    title: str
    subtitle: str = ""


def columns_for(metadata: Metadata) -> list[Column]:
    """The frame, then every map of the file in the contract's order."""
    titles = {
        contract.MAP: ("saliency map", "all scales"),
        contract.LOVI: ("LOVI", "which scales"),
        contract.CAM: ("CAM", metadata.cam or ""),
        contract.FASTCAM: ("Fast-CAM", "map x CAM"),
        contract.NONCLASS: ("non-class", "map x (1 - CAM)"),
    }
    for k, tap in enumerate(metadata.taps, start=1):
        titles[contract.scale_output(k)] = (f"scale {k}", f"{tap.shape[3]} x {tap.shape[2]}")
    return [Column(FRAME, "frame"), *(Column(name, *titles[name]) for name in metadata.outputs)]


def pick(columns: Iterable[Column], *shows: str) -> list[Column]:
    """Some of the columns, in the order of `shows`."""
    by_output = {column.shows: column for column in columns}
    return [by_output[name] for name in shows]


def draw_sheet(rows: Sequence[Row], columns: Sequence[Column], scales: int, *, tile_width: int) -> Array:
    """The sheet as a BGR picture: maps of the whole frame over it, as `fastcam run` draws them; scales alone.

    The rows have one frame size. There are at least five columns, the width of the legend. All sizes follow
    from `tile_width` and the frame's aspect ratio.
    """
    layout = _Layout.lay(rows[0].frame, len(rows), len(columns), tile_width)
    sheet: Image = np.full((*layout.size, 3), _GROUND, np.uint8)
    for j, column in enumerate(columns):
        _write_title(sheet, column, layout.title(j), layout)
        for i, row in enumerate(rows):
            _fill(layout.tile(i, j).of(sheet), _picture(column, row))
    for i, row in enumerate(rows):
        _write_label(sheet, row, layout.label(i), layout)
    legend = layout.legend
    draw_legend(sheet, legend.x, legend.y, tile_width * 3 // 2, layout.small, scales)
    return sheet


@dataclass(frozen=True)
class _Layout:
    """All positions, in pixels. The labels are at the left, the legend is at the bottom."""

    rows: int
    columns: int
    tile_width: int
    tile_height: int
    gap: int
    letters: Lettering
    small: Lettering

    @classmethod
    def lay(cls, frame: Image, rows: int, columns: int, tile_width: int) -> _Layout:
        height = max(1, round(tile_width * frame.shape[0] / frame.shape[1]))
        letters, small = Lettering(max(10, tile_width // 13)), Lettering(max(9, tile_width // 16))
        return cls(rows, columns, tile_width, height, max(4, tile_width // 24), letters, small)

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of the sheet."""
        legend = self.legend
        return legend.y + legend.height + self._margin, legend.x + legend.width + self._margin

    @property
    def legend(self) -> Rect:
        """The legend's rectangle: below the tiles, as wide as all of them."""
        last = self.tile(self.rows - 1, self.columns - 1)
        top = self._top(self.rows) + self.gap
        return Rect(self._left, top, last.x + last.width - self._left, legend_height(self.small))

    def title(self, column: int) -> Rect:
        """The rectangle of a column's title."""
        tile = self.tile(0, column)
        return Rect(tile.x, self._margin, tile.width, tile.y - self._margin)

    def label(self, row: int) -> Rect:
        """The rectangle of a row's label."""
        return Rect(self._margin, self._top(row), self._left - self.gap - self._margin, self._row_height)

    def tile(self, row: int, column: int) -> Rect:
        """The rectangle of a picture."""
        left = self._left + column * (self.tile_width + self.gap)
        return Rect(left, self._top(row), self.tile_width, self.tile_height)

    @property
    def _margin(self) -> int:
        return 2 * self.gap

    @property
    def _left(self) -> int:
        """The left edge of the tiles."""
        return self._margin + self.tile_width * 7 // 8

    def _top(self, row: int) -> int:
        """The top edge of a row."""
        titles = self.letters.height + 2 * self.small.height + 2 * self.gap
        return self._margin + titles + row * (self._row_height + self.gap)

    @property
    def _row_height(self) -> int:
        """The height of a tile, but enough for a label of three lines with score and time."""
        return max(self.tile_height, 10 * self.letters.height)


def _picture(column: Column, row: Row) -> Array:
    """The picture of one tile, at the frame's size."""
    if column.shows == FRAME:
        return row.frame
    saliency, geometry = row.explanation.maps[column.shows], row.explanation.geometry
    if column.shows.startswith(contract.SCALE_PREFIX):
        return Overlay().heat(saliency, geometry)
    view = "lovi" if column.shows == contract.LOVI else "overlay"
    return Painter(Overlay()).paint(view, row.frame, {column.shows: saliency}, geometry)


def _fill(tile: Image, picture: Image) -> None:
    height, width = tile.shape[:2]
    shrinks = width < picture.shape[1]
    tile[:] = cv2.resize(
        picture, (width, height), interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
    )


def _write_title(sheet: Image, column: Column, place: Rect, layout: _Layout) -> None:
    letters, small = layout.letters, layout.small
    baseline = place.y + letters.height
    letters.put(sheet, letters.fit(column.title, place.width), place.x, baseline)
    baseline += 2 * small.height
    small.put(sheet, small.fit(column.subtitle, place.width), place.x, baseline, MUTED)


def _write_label(sheet: Image, row: Row, place: Rect, layout: _Layout) -> None:
    """The label, its score and the frame's time, one below the other."""
    letters, small = layout.letters, layout.small
    y = place.y + letters.height
    for line in _wrap(plain(row.explanation.label), letters, place.width):
        letters.put(sheet, line, place.x, y)
        y += 2 * letters.height
    if row.explanation.score is not None:
        small.put(sheet, f"{row.explanation.score:.0%}", place.x, y)
    small.put(sheet, f"at {row.seconds:.1f} s", place.x, y + 2 * small.height, MUTED)


def _wrap(text: str, letters: Lettering, room: int) -> list[str]:
    """Wrap the text at spaces into lines of at most `room` pixels; a word that is too long is shortened."""
    lines: list[str] = []
    for word in text.split():
        if lines and letters.width(f"{lines[-1]} {word}") <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(letters.fit(word, room))
    return lines
