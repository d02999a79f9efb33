"""Time per operator, from onnxruntime's own profile: the maps', the network's, and layout conversions."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from ..contract import NODE_PREFIX
from ..model.session import open_session
from .paired import WARM_UP, BenchOptions, Variant

MAPS, NETWORK, LAYOUT = "maps", "network", "layout"
_CONVERSIONS = ("ReorderInput", "ReorderOutput")
"""Conversions between layouts. A tap needs one, but the network may need the same one."""
_SUFFIX = "_kernel_time"


@dataclass(frozen=True)
class OperatorTime:
    """The time of all nodes of one operator in one run."""

    part: str
    """`maps`, `network`, or `layout` for conversions between layouts."""
    operator: str
    nodes: int
    milliseconds: float
    """The sum of their medians over the profiled runs."""


def profile(variant: Variant, options: BenchOptions) -> list[OperatorTime]:
    """The operators of a file, the slowest first.

    The file is run again with onnxruntime's profiler, which makes small nodes look slower than they are.
    """
    with tempfile.TemporaryDirectory() as folder:
        session = open_session(
            variant.path,
            threads=options.threads,
            provider=options.provider,
            compiled=options.compiled,
            profile=Path(folder) / "profile",
        )
        for _ in range(WARM_UP + options.rounds):
            variant.runner(session, None, variant.feed)
        events = json.loads(Path(session.end_profiling()).read_text())
    return sum_up(
        (event["name"].removesuffix(_SUFFIX), event["args"]["op_name"], event["dur"])
        for event in events
        if event["cat"] == "Node" and event["name"].endswith(_SUFFIX)
    )


def sum_up(nodes: Iterable[tuple[str, str, float]]) -> list[OperatorTime]:
    """Add up the medians of all nodes by part and operator, the slowest first.

    `nodes` are name, operator and microseconds, once per node and run.
    """
    samples: dict[tuple[str, str], list[float]] = {}
    for name, operator, microseconds in nodes:
        samples.setdefault((name, operator), []).append(microseconds)
    sums: dict[tuple[str, str], list[float]] = {}
    for (name, operator), times in samples.items():
        part = MAPS if name.startswith(NODE_PREFIX) else LAYOUT if operator in _CONVERSIONS else NETWORK
        sums.setdefault((part, operator), []).append(median(times))
    found = [
        OperatorTime(part, operator, len(times), sum(times) / 1e3) for (part, operator), times in sums.items()
    ]
    return sorted(found, key=lambda one: -one.milliseconds)
