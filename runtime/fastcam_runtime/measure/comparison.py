"""Two reports of `fastcam bench` side by side: before and after a change, or two devices."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FastcamError
from ..limits import read_whole

_RESAMPLES = 2000
_SETTINGS = ("cpu", "provider", "threads", "kernels")
_CLOCKS = {"wall": "samples_ms", "CPU": "cpu_samples_ms"}


@dataclass(frozen=True)
class Change:
    """The time of one variant in two reports."""

    name: str
    clock: str
    """`wall` or `CPU`."""
    before: float
    after: float
    """Medians in milliseconds."""
    percent: float
    interval: tuple[float, float]
    """95 % of the changes of resampled rounds (bootstrap), in percent."""

    @property
    def within_noise(self) -> bool:
        """Whether the interval includes 0."""
        return self.interval[0] <= 0 <= self.interval[1]


def read_report(path: Path) -> dict[str, Any]:
    """A report that `fastcam bench --json` wrote.

    Raises:
        FastcamError: There is no such file, or it is not such a report.
    """
    try:
        report = json.loads(read_whole(path))
    except OSError as error:
        raise FastcamError(f"{path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise FastcamError(f"{path}: not JSON: {error}") from error
    if not isinstance(report, dict) or not all(
        isinstance(variant, dict) and variant.get("samples_ms")
        for variant in report.get("variants") or [None]
    ):
        raise FastcamError(f"{path}: no report of 'fastcam bench --json'")
    return report


def compare(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    """The change of every variant that both reports have, in wall time and, if both have it, in CPU time.

    The rounds of two runs are not paired, so other load on the machine adds noise.

    Raises:
        FastcamError: They have no variant in common.
    """
    first, second = ({one["name"]: one for one in report["variants"]} for report in (before, after))
    changes = [
        Change(name, clock, *_change(first[name][samples], second[name][samples]))
        for name in first
        if name in second
        for clock, samples in _CLOCKS.items()
        if samples in first[name] and samples in second[name]
    ]
    if not changes:
        raise FastcamError(f"nothing to compare: one has {', '.join(first)}, the other {', '.join(second)}")
    return changes


def _change(before: list[float], after: list[float]) -> tuple[float, float, float, tuple[float, float]]:
    rng = np.random.default_rng(0)
    medians = [
        np.median(rng.choice(np.array(samples), (_RESAMPLES, len(samples))), axis=1)
        for samples in (before, after)
    ]
    changes = 100 * (medians[1] / medians[0] - 1)
    low, high = (float(np.percentile(changes, q)) for q in (2.5, 97.5))
    first, second = float(np.median(before)), float(np.median(after))
    return first, second, 100 * (second / first - 1), (low, high)


def differing_settings(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """What else differs between the two runs, by name: device, settings, versions, load."""
    first, second = _flat(before), _flat(after)
    return {
        name: (first.get(name), second.get(name))
        for name in {**first, **second}
        if first.get(name) != second.get(name)
    }


def _flat(report: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{name: report.get(name) for name in _SETTINGS},
        **report.get("versions", {}),
        **report.get("conditions", {}),
        **{f"sha256 of {one['name']}": one.get("sha256", "")[:12] for one in report["variants"]},
    }
