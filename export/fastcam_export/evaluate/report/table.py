"""An evaluation as text: tables and conclusions."""

from __future__ import annotations

from fastcam_runtime.text import left_table

from ..bootstrap import Estimate
from ..metrics import METRICS, SHOWN
from ..results import Evaluation
from .words import conclusions


def text(found: Evaluation) -> str:
    """Everything for a terminal."""
    count = len(found.pictures)
    if not count:
        return "no picture was evaluated"
    head = f"{found.file}: {count} of {found.setup['pictures']} pictures"
    if found.stopped:
        head += " (stopped early: partial results)"
    parts = [head, left_table(main_rows(found)), _legend(found)]
    sanity = sanity_rows(found)
    if len(sanity) > 1:
        parts.append("rank correlation of each map with …\n" + left_table(sanity))
    if found.flicker:
        parts.append(left_table(flicker_rows(found)))
    parts += ["Conclusions:\n" + "\n".join(f"- {line}" for line in conclusions(found))]
    parts += [f"note: {note}" for note in found.notes]
    return "\n\n".join(parts)


def main_rows(found: Evaluation) -> list[tuple[str, ...]]:
    """The means, and the interval of the difference to the reference; the best of a column is starred."""
    metrics = found.measured(SHOWN)
    rows: list[tuple[str, ...]] = [("map", *(METRICS[metric].title for metric in metrics))]
    for method in found.methods:
        cells = []
        for metric in metrics:
            mean = number(found.mean(metric, method).mean)
            star = "*" if method == _best(found, metric) else " "
            if method == found.reference:
                cells.append(f"{mean}{star}")
            else:
                cells.append(f"{mean}{star}{interval(found.difference(metric, method))}")
        rows.append((method, *cells))
    return rows


def sanity_rows(found: Evaluation) -> list[tuple[str, ...]]:
    """The correlation of each map with shuffled weights, another class, another picture, and the edges."""
    rows: list[tuple[str, ...]] = [("", *found.maps)]
    for step, maps in found.sanity.items():
        means = (number(sum(values) / len(values)) if values else "" for values in maps.values())
        rows.append((f"itself, weights shuffled: {step}", *means))
    if found.other_picture:
        rows.append(("that of another picture", *(_mean(found.other_picture[n]) for n in found.maps)))
    rows.append(("the edge filter", *(number(found.edges(name).mean) for name in found.maps)))
    dependence = [found.class_dependence(name) for name in found.maps]
    if any(dependence):
        rows.append(("itself for a random class", *("" if d is None else number(d.mean) for d in dependence)))
    return rows


def flicker_rows(found: Evaluation) -> list[tuple[str, ...]]:
    """The change per frame of the video."""
    rows: list[tuple[str, ...]] = [
        ("change per frame, % of the map's deviation", "plain", "smoothed 0.7", "correlation", "frames")
    ]
    for name, one in found.flicker.items():
        rows.append(
            (name, f"{one.plain:.1f}", f"{one.smoothed:.1f}", f"{one.correlation:.3f}", str(one.frames))
        )
    return rows


def number(value: float) -> str:
    """Three digits, with a typographic minus."""
    return f"{value:.3f}".replace("-", "−")


def interval(difference: Estimate) -> str:
    """`[−.01,+.02]`: the 95 % interval of the difference to the reference."""
    return f"[{difference.low:+.3f},{difference.high:+.3f}]".replace("-", "−")


def _mean(values: list[float]) -> str:
    return number(sum(values) / len(values)) if values else ""


def _best(found: Evaluation, metric: str) -> str:
    sign = 1 if METRICS[metric].higher_is_better else -1
    return max(found.methods, key=lambda method: sign * found.mean(metric, method).mean)


def _legend(found: Evaluation) -> str:
    lines = [
        f"* best of its column. In brackets: 95 % bootstrap interval of the difference to {found.reference}, "
        "picture by picture.",
    ]
    for metric in (METRICS[name] for name in found.measured(SHOWN)):
        better = "higher" if metric.higher_is_better else "lower"
        lines.append(f"{metric.title} ({better} is better): {metric.meaning}")
    return "\n".join(lines)
