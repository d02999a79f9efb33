"""One page about one device: what the maps of a file cost on it in every form, with the conditions.

It is meant to be published, so it has no folder, user or host names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import native
from ..contract import METADATA_KEY
from ..errors import FastcamError
from ..model import device
from ..model.file import is_ort, sha256, summarize_file
from ..model.pruning import cut_file
from ..model.session import describe_form
from ..prepared.cache import open_cached
from . import system
from .conditions import conditions
from .paired import WARM_UP, BenchOptions, Difference, Variant, measure, open_variant, statistics

PERCENTILES = ("p50", "p90", "p95", "p99")
_STATES = {
    "governor": "governor",
    "temperature_celsius": "temperature, °C",
    "throttled": "throttled",
    "load": "load of the system",
}
"""The values before and after, and their names on the page."""


def measure_device(model: Path, options: BenchOptions) -> dict[str, Any]:
    """Measure every form of a grafted file on the CPU, interleaved, and describe the device; in plain types.

    Raises:
        FastcamError: It is not a grafted `.onnx` file, or cannot be run.
    """
    if is_ort(model) or METADATA_KEY not in (file := summarize_file(model)).metadata:
        raise FastcamError(f"{model}: a report needs a grafted .onnx file; make one with fastcam export")
    before = conditions()
    variants = _open_forms(model, replace(options, provider="cpu"))
    measure(variants, options.rounds)
    plain, *forms = variants
    return {
        "device": {
            "name": system.cpu_name(),
            "processor": device.processor(),
            "cores": before["cores"],
            "memory_bytes": system.memory_bytes(),
            "versions": {"fastcam-edge": before["version"], **system.versions()},
        },
        "model": {"file": model.name, "bytes": model.stat().st_size, "sha256": sha256(model)},
        "runs": {
            "threads": plain.session.get_session_options().intra_op_num_threads,
            "rounds": options.rounds,
            "warm_up": WARM_UP,
            "kernels": describe_form(forms[-1].session, file, compiled=True),
        },
        "conditions": {"before": before, "after": conditions()},
        "plain": _times(plain),
        "forms": {form.name: {**_times(form), "cost": _cost(plain, form)} for form in forms},
    }


def _open_forms(model: Path, options: BenchOptions) -> list[Variant]:
    """The plain network, then every form of the file; the last is the default."""
    open_cached(model, threads=options.threads, provider="cpu")  # preparation is not load time
    forms = [
        open_variant("plain", model, options, cut_file(model)),
        open_variant("standard operators", model, replace(options, compiled=False)),
    ]
    if native.usable():
        forms.append(open_variant("compiled kernels", model, options))
    forms.append(open_variant("by default", model, options, opener=open_cached))
    return forms


def _times(variant: Variant) -> dict[str, Any]:
    return {
        "load_ms": variant.load_ms,
        "wall_ms": variant.statistics(),
        "cpu_ms": statistics(variant.cpu_samples),
    }


def _cost(plain: Variant, form: Variant) -> dict[str, Any]:
    return {
        "wall": vars(Difference.between(plain.samples, form.samples)),
        "cpu": vars(Difference.between(plain.cpu_samples, form.cpu_samples)),
    }


def markdown(report: Mapping[str, Any]) -> str:
    """The page as Markdown; `report` is the result of `measure_device`."""
    told, model, runs = report["device"], report["model"], report["runs"]
    measured = {"plain": report["plain"], **report["forms"]}
    versions = ", ".join(f"{name} {version}" for name, version in told["versions"].items() if version)
    memory = f", {told['memory_bytes'] / 1e9:.1f} GB" if told["memory_bytes"] else ""
    lines = [
        f"# fastcam on {told['name']}",
        "",
        f"- device: {told['name']}, {told['cores']} cores{memory}",
        f"- software: {versions}",
        f"- model: {model['file']}, {model['bytes'] / 1e6:.1f} MB, sha256 {model['sha256']}",
        f"- runs: {runs['rounds']} of each form in turns after {runs['warm_up']} to warm up, "
        f"threads: {runs['threads']}, {runs['kernels']}",
        "",
        "## Conditions",
        "",
        *_table(["", "before", "after"], _condition_rows(report["conditions"])),
        "",
        "## Time of a frame",
        "",
        *_table(
            ["ms", *PERCENTILES, "CPU p50", "start", "maps cost", "in CPU time", "95 %"],
            [_form_row(name, times, report["plain"]) for name, times in measured.items()],
        ),
        "",
        "The cost is the median of the differences to the plain network within the same rounds.",
    ]
    return "\n".join(lines) + "\n"


def _condition_rows(states: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    return [
        [title, *(_told(states[when][key]) for when in ("before", "after"))]
        for key, title in (("date", "date"), *_STATES.items())
    ]


def _told(value: object) -> str:
    if value is None:
        return "not told"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _form_row(name: str, times: Mapping[str, Any], plain: Mapping[str, Any]) -> list[str]:
    cells = [f"{times['wall_ms'][key]:.2f}" for key in PERCENTILES]
    cells += [f"{times['cpu_ms']['p50']:.2f}", f"{times['load_ms']:.0f}"]
    if "cost" not in times:
        return [name, *cells, "", "", ""]
    wall, cpu = times["cost"]["wall"], times["cost"]["cpu"]
    low, high = (100 * bound / plain["cpu_ms"]["p50"] for bound in cpu["interval"])
    costs = [f"{cost['percent']:+.1f} %" for cost in (wall, cpu)]
    return [name, *cells, *costs, f"{low:+.1f} … {high:+.1f} %"]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] + ["--:"] * (len(head) - 1), *rows]
    return [f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines]
