"""An evaluation as text: tables and conclusions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import fmean

from fastcam_runtime.text import count, left_table, one_line

from ..bootstrap import Estimate, Estimates
from ..measures import road
from ..measures.flicker import Flicker
from ..measures.perturbation import LEVELS
from ..metrics import METRICS, SHOWN
from ..results import Evaluation
from .numbers import rounded, signed
from .words import conclusions

MOST_NOTES = 12
"""More are only in the files."""


WIDTH = 120
"""Columns of a terminal that a table fits into; one that is wider is printed in parts."""


def text(found: Evaluation) -> str:
    """Everything for a terminal."""
    if not found.pictures:
        return "no picture was evaluated"
    head = f"{found.file}: {pictures_told(found)}"
    if found.stopped:
        head += " (stopped early: partial results)"
    parts = [one_line(head)]
    main, sanity, video = main_rows(found), sanity_rows(found), flicker_rows(found)
    if found.measured(SHOWN):
        parts += [fitted(main), legend(found)]
    if len(sanity) > 1:
        parts.append("rank correlation of each map with …\n" + fitted(sanity))
    if found.flicker:
        parts.append(f"{CHANGE}:\n" + fitted(video))
    parts.append(brackets(found, main, sanity, video, video=bool(found.flicker)))
    parts.append("Conclusions:\n" + "\n".join(f"- {line}" for line in conclusions(found)))
    notes = [*found.left_out(), *found.notes]
    more = len(notes) - MOST_NOTES
    parts.append("\n".join(one_line(f"note: {note}") for note in notes[:MOST_NOTES]))
    if more > 0:
        parts.append(f"note: and {more} more, which are in the files of --json and --html")
    return "\n\n".join(filter(None, parts))


def pictures_told(found: Evaluation) -> str:
    """`8 pictures`, or `7 of 8 pictures` if some are left out."""
    done, given = len(found.pictures), int(found.setup["pictures"])
    return count(given, "picture") if done == given else f"{done} of {count(given, 'picture')}"


def fitted(rows: Sequence[Sequence[str]]) -> str:
    """A table, or several with the same first column, none wider than `WIDTH` if its columns are not."""
    first, *others = zip(*rows, strict=True)
    parts: list[list[Sequence[str]]] = []
    for column in others:
        wide = [max(map(len, one)) + 2 for one in (first, *(parts[-1] if parts else ()), column)]
        if parts and sum(wide) - 2 <= WIDTH:
            parts[-1].append(column)
        else:
            parts.append([column])
    return "\n\n".join(left_table(list(zip(first, *part, strict=True))) for part in parts)


def main_rows(found: Evaluation, wanted: Sequence[str] = SHOWN) -> list[tuple[str, ...]]:
    """The means with their intervals; the best of a column is starred."""
    metrics = found.measured(wanted)
    best = {metric: _best(found, metric) for metric in metrics}
    rows: list[tuple[str, ...]] = [("map", *(METRICS[metric].title for metric in metrics))]
    for method in found.methods:
        cells = [
            _cell(
                found.mean(metric, method),
                None if method == found.reference else found.difference(metric, method),
                "*" if method == best[metric] else " ",
            )
            for metric in metrics
        ]
        rows.append((method, *cells))
    return rows


def sanity_rows(found: Evaluation) -> list[tuple[str, ...]]:
    """The correlation of each map with shuffled weights, another picture, the edges and another class."""
    rows: list[tuple[str, ...]] = [("", *found.maps)]
    for what, maps in found.checks().items():
        reference = maps.get(found.reference, [])
        cells = []
        for name in found.maps:
            mean, gap = found.compare(maps.get(name, []), reference)
            cells.append(_cell(mean, gap if name != found.reference else None))
        rows.append((what, *cells))
    return rows


FRAMES_ALIKE = 10
"""Frames in a row that count as one draw of the bootstrap: they are alike."""


CHANGE = "change per frame of the video, in % of the map's deviation (lower is steadier)"
"""What `flicker_rows` shows."""


def flicker_rows(found: Evaluation) -> list[tuple[str, ...]]:
    """The change per frame of the video."""
    rows: list[tuple[str, ...]] = [("map", "plain", "smoothed 0.7", "correlation", "frames")]
    reference = found.flicker.get(found.reference)
    for name, one in found.flicker.items():
        other = None if name == found.reference else reference
        plain = _change(found.estimates, one, other, lambda f: f.changes)
        smoothed = _change(found.estimates, one, other, lambda f: f.smoothed_changes)
        rows.append((name, plain, smoothed, f"{one.correlation:.3f}", str(one.frames)))
    return rows


def brackets(found: Evaluation, *tables: Sequence[Sequence[str]], video: bool = False) -> str:
    """What the intervals behind the means are: those that stand in these tables, one of them of a video."""
    cells = [cell for rows in tables for row in rows[1:] for cell in row[1:]]
    told = []
    if any(cell.endswith("]") for cell in cells):
        told.append(
            f"In [brackets]: 95 % bootstrap interval of the difference to {found.reference}, picture by "
            "picture."
        )
    if any(cell.endswith(")") for cell in cells):
        told.append(
            f"In (parentheses): {'that' if told else 'the 95 % bootstrap interval'} of the mean itself."
        )
    if told and video:
        told.append(f"Of the video, {FRAMES_ALIKE} frames in a row are one draw.")
    return " ".join(told)


def _change(
    estimates: Estimates, one: Flicker, other: Flicker | None, of: Callable[[Flicker], Sequence[float]]
) -> str:
    mean = estimates.of(of(one), FRAMES_ALIKE)
    gap = None
    if other is not None and len(of(other)) == len(of(one)):
        gap = estimates.of_difference(of(one), of(other), FRAMES_ALIKE)
    return _cell(mean, gap, digits=1)


def _cell(mean: Estimate, difference: Estimate | None, star: str = " ", digits: int = 3) -> str:
    """The mean, with the interval of its difference to the reference, or else with its own."""
    if math.isnan(mean.mean):
        return ""
    shown = rounded(mean.mean, digits) + star
    if difference is not None:
        return shown + interval(difference, digits)
    if math.isnan(mean.low):
        return shown
    return f"{shown}({rounded(mean.low, digits)}…{rounded(mean.high, digits)})"


def interval(difference: Estimate, digits: int = 3) -> str:
    """`[−.01,+.02]`: the 95 % interval of the difference to the reference; empty if there is none."""
    if math.isnan(difference.low):
        return ""
    return f"[{signed(difference.low, digits)},{signed(difference.high, digits)}]"


def _best(found: Evaluation, metric: str) -> str:
    sign = 1 if METRICS[metric].higher_is_better else -1
    return max(found.methods, key=lambda method: sign * fmean(found.values(metric, method)))


def legend(found: Evaluation) -> str:
    """What the columns are."""
    lines = ["* best of its column"]
    for metric in (METRICS[name] for name in found.measured(SHOWN)):
        better = "higher" if metric.higher_is_better else "lower"
        lines.append(f"{metric.title} ({better} is better): {metric.meaning}")
    if found.measured(("score_blur",)):
        lines.append(levels())
    return "\n".join(lines)


def levels() -> str:
    """The shares of the pixels at which the network is asked."""
    inserted, removed = (", ".join(f"{100 * share:g}" for share in given) for given in (LEVELS, road.LEVELS))
    return f"Insertion and deletion at {inserted} % of the pixels, ROAD at {removed} %."
