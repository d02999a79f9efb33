"""The project's promises about cost, and whether a result keeps them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fastcam_runtime.text import format_table

from ..inputs.networks import NETWORKS

MAP_LIMITS = {
    "standard": {"resnet50": 5.0, "resnet18": 7.0, "efficientnet_lite0": 32.0, "mobilenet_v2": 36.0},
    "native": {"resnet50": 1.5, "resnet18": 2.0, "efficientnet_lite0": 9.0, "mobilenet_v2": 10.5},
    "prepared": {"resnet50": 0.6, "resnet18": 2.0, "efficientnet_lite0": 4.0, "mobilenet_v2": 5.5},
}
"""Percent of the plain forward pass that `saliency_map` may cost: one thread, 224². `prepared` is what runs
by default, from the cache."""
AIMS = {
    "standard": {"resnet50": 3.0, "resnet18": 6.0, "efficientnet_lite0": 25.0, "mobilenet_v2": 25.0},
    "native": {"resnet50": 1.0, "efficientnet_lite0": 7.0, "mobilenet_v2": 7.0},
    "prepared": {"resnet50": 0.3, "efficientnet_lite0": 3.0, "mobilenet_v2": 3.0},
}
"""Aims, stricter than the promises. A fused loop over the tapped tensors would take about 0.3 % of ResNet-50
and 2.5 % of MobileNetV2."""
INT8_LIMITS = {"native": 15.0, "prepared": 8.0}
INT8_AIMS = {"standard": 50.0}
"""The same for int8 networks."""
INSTRUCTION_LIMITS = {"efficientnet_lite0": 1.0, "mobilenet_v2": 2.0}
"""Percent of the plain network's instructions that the compiled form may add on the emulated Cortex-A76."""
GROWTH_LIMIT = 3.0
"""Percent that the instructions of the maps may grow by against the reference."""
CLASS_MAP_LIMIT = 2.0
"""Additional percent for class maps if the head is GlobalAveragePool → Linear."""
LOAD_LIMITS = {"prepared": 0.0}
"""Percent that opening a file may take longer than the plain one: by default, from the cache, no longer."""
FILE_LIMIT_PERCENT, FILE_LIMIT_BYTES = 1.0, 200_000
THREADS_LIMIT = 1.3
"""Cost on two threads relative to one thread, each in percent of the plain run on as many threads. Both are
measured, so the nearest ends of their 95 % intervals are compared: only a significant excess counts."""
SECOND_CORE = 0.8
"""Two threads are judged only if the plain file takes at most this share of its time on one thread."""
THREADS_FLOOR = 1.0
"""Costs below this percentage are not compared: the ratio of two figures near zero is meaningless."""


@dataclass(frozen=True)
class Outcome:
    """One promise and what was measured."""

    promise: str
    measured: float
    limit: float
    unit: str

    @property
    def kept(self) -> bool:
        return self.measured <= self.limit

    def figures(self) -> tuple[str, str]:
        """What was measured, and the limit, with their unit."""
        return f"{self.measured:.2f} {self.unit}", f"{self.limit:.2f} {self.unit}"

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "kept": self.kept}


def outcomes(result: Mapping[str, Any]) -> list[Outcome]:
    """Every promise that the overhead benchmark's result can check."""
    runs = {(run["network"], run["threads"]): run for run in result["overhead"]}
    kinds = (_map_costs(runs), _against_naive(runs), _class_maps(runs), _threads(runs))
    return [*(outcome for kind in kinds for outcome in kind), *_footprints(result["footprint"])]


def second_core_was_free(one: Mapping[str, Any], two: Mapping[str, Any]) -> bool:
    """Whether the plain file was faster with a second thread. If not, other programs used that core, and a
    run on two threads is not valid."""
    gained: bool = two["plain"]["median_ms"] <= SECOND_CORE * one["plain"]["median_ms"]
    return gained


Runs = Mapping[tuple[str, int], Mapping[str, Any]]


def _map_costs(runs: Runs) -> Iterator[Outcome]:
    for form, limits in MAP_LIMITS.items():
        for network, limit in limits.items():
            measured = runs.get((network, 1), {"forms": {}})["forms"].get(form)
            if measured is not None:
                yield Outcome(f"{_title(network)}, {form}: cost of the map", measured["percent"], limit, "%")


def _against_naive(runs: Runs) -> Iterator[Outcome]:
    for (network, threads), run in runs.items():
        forms = run["forms"]
        for form in MAP_LIMITS:
            if threads == 1 and form in forms and "naive" in forms:
                naive = forms["naive"]["percent"]
                text = f"{_title(network)}, {form}: no slower than the naive graft"
                yield Outcome(text, forms[form]["percent"], naive, "%")


def _class_maps(runs: Runs) -> Iterator[Outcome]:
    for (network, threads), run in runs.items():
        if threads != 1 or not NETWORKS[network].linear_head:
            continue
        for form, extra in run["classes_on_top"].items():
            text = f"{_title(network)}, {form}: class maps on top"
            yield Outcome(text, extra["percent"], CLASS_MAP_LIMIT, "%")


def _threads(runs: Runs) -> Iterator[Outcome]:
    for (network, threads), two in runs.items():
        one = runs.get((network, 1))
        if threads != 2 or one is None or not second_core_was_free(one, two):
            continue
        for form in MAP_LIMITS:
            if form in two["forms"]:
                text = f"{_title(network)}, {form}: cost on two threads, against that on one"
                limit = max(THREADS_LIMIT * one["forms"][form]["interval_percent"][1], THREADS_FLOOR)
                yield Outcome(text, two["forms"][form]["interval_percent"][0], limit, "%")


def _footprints(footprints: Mapping[str, Any]) -> Iterator[Outcome]:
    for network, measured in footprints.items():
        for form, limit in LOAD_LIMITS.items():
            if form in measured["forms"]:
                percent = measured["forms"][form]["load"]["percent"]
                yield Outcome(f"{_title(network)}, {form}: load time", percent, limit, "%")
        growth = measured["forms"]["standard"]["file_growth_bytes"]
        most = max(FILE_LIMIT_BYTES, FILE_LIMIT_PERCENT / 100 * measured["file_bytes"])
        yield Outcome(f"{_title(network)}: file growth", growth / 1e3, most / 1e3, "kB")


def int8_outcomes(result: Mapping[str, Any]) -> list[Outcome]:
    """The promises about int8 networks."""
    found = []
    for run in result["int8"]:
        for form, limit in INT8_LIMITS.items():
            if form in run["forms"]:
                text = f"{_title(run['network'])} int8, {form}: cost of the map"
                found.append(Outcome(text, run["forms"][form]["percent"], limit, "%"))
    return found


def missed_aims(overhead: Mapping[str, Any], int8: Mapping[str, Any]) -> dict[str, list[str]]:
    """For each form, the networks whose maps cost more than the aim."""
    missed: dict[str, list[str]] = {}
    for run in [*(run for run in overhead["overhead"] if run["threads"] == 1), *int8["int8"]]:
        network, quantized = run["network"], run in int8["int8"]
        for form, cost in run["forms"].items():
            aim = INT8_AIMS.get(form) if quantized else AIMS.get(form, {}).get(network)
            if aim is not None and cost["percent"] > aim:
                missed.setdefault(form, []).append(_title(network) + " int8" * quantized)
    return missed


def instruction_outcomes(result: Mapping[str, Any], reference: Mapping[str, Any]) -> list[Outcome]:
    """The promises about instructions on the emulated board: what the maps add, and no growth."""
    found = []
    for network, one in result["networks"].items():
        before = reference["networks"].get(network)
        for form, cost in one["forms"].items():
            limit = INSTRUCTION_LIMITS.get(network)
            if limit is not None and form == "native":
                text = f"{network}, {form}: instructions of the map"
                found.append(Outcome(text, cost["percent"], limit, "%"))
            if before is not None and form in before["forms"]:
                # Of the maps alone: in the sum with the network they could double unnoticed.
                own = cost["percent"] * one["plain"]
                growth = 100 * (own / (before["forms"][form]["percent"] * before["plain"]) - 1)
                text = f"{network}, {form}: growth of instructions"
                found.append(Outcome(text, growth, GROWTH_LIMIT, "%"))
    return found


def _title(network: str) -> str:
    return NETWORKS[network].title


def format_outcomes(found: Sequence[Outcome]) -> str:
    """The promises as a table, the broken ones first and marked."""
    rows = [
        [outcome.promise, *outcome.figures(), "kept" if outcome.kept else "MISSED"]
        for outcome in sorted(found, key=lambda outcome: outcome.kept)
    ]
    missed = sum(not outcome.kept for outcome in found)
    return f"{format_table(['promise', 'measured', 'limit', ''], rows)}\n{missed} of {len(found)} missed"
