"""The other tables of `fastcam bench`: operators, comparisons, CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..measure.comparison import compare, differing_settings, read_report
from ..measure.operators import OperatorTime
from ..sinks.atomic import write_whole
from ..text import format_table


def format_operators(times: Sequence[OperatorTime]) -> str:
    """Time per operator, with the sum of each part."""
    whole = sum(time.milliseconds for time in times)
    rows = [
        [
            time.part,
            time.operator,
            f"{time.nodes}",
            f"{time.milliseconds:.3f}",
            _share(time.milliseconds, whole),
        ]
        for time in times
    ]
    for part in dict.fromkeys(time.part for time in times):
        own = [time for time in times if time.part == part]
        spent = sum(time.milliseconds for time in own)
        rows.append([part, "all", f"{sum(t.nodes for t in own)}", f"{spent:.3f}", _share(spent, whole)])
    table = format_table(["part", "operator", "nodes", "ms", "share"], rows)
    return f"{table}\nprofiling slows down small nodes; layout: conversions for both"


def format_comparison(before: Path, after: Path) -> str:
    """The table of two reports, and what else differs between them."""
    reports = [read_report(path) for path in (before, after)]
    rows = [
        [
            change.name,
            change.clock,
            f"{change.before:.3f}",
            f"{change.after:.3f}",
            f"{change.percent:+.1f} %",
            f"{change.interval[0]:+.1f} … {change.interval[1]:+.1f}",
            "within the noise" if change.within_noise else "",
        ]
        for change in compare(*reports)
    ]
    lines = [
        format_table(["median ms", "clock", str(before), str(after), "change", "95 % interval", ""], rows)
    ]
    for report, path in zip(reports, (before, after), strict=True):
        cost = report.get("difference_ms")
        if cost:
            lines.append(f"{path}: maps cost {cost['median']:+.3f} ms ({cost['percent']:+.1f} %)")
    lines.append("two runs are not paired: other load on the machine adds noise, least of all to CPU time")
    for name, (first, second) in differing_settings(*reports).items():
        lines.append(f"{name}: {first} → {second}")
    return "\n".join(lines)


def write_csv(path: Path, report: Mapping[str, Any]) -> None:
    """Write all samples atomically, one line per round and variant."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["variant", "round", "wall_ms", "cpu_ms"])
    for variant in report["variants"]:
        pairs = zip(variant["samples_ms"], variant["cpu_samples_ms"], strict=True)
        for number, (wall, cpu) in enumerate(pairs):
            table.writerow([variant["name"], number, f"{wall:.6f}", f"{cpu:.6f}"])
    write_whole(path, text.getvalue().encode())


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else ""
