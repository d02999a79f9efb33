"""The parts that all benchmarks share: the description of the machine, and the result files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from fastcam_runtime import native
from fastcam_runtime.cli.output_paths import write_json
from fastcam_runtime.measure import system

from ..paths import RESULTS
from .rounds import Contender


def setup(packages: Sequence[str] = (), **options: Any) -> dict[str, Any]:
    """The machine, the versions (also of `packages`) and the options: all that is needed to repeat a run."""
    return {
        "cpu": system.cpu_name(),
        "cores": os.cpu_count(),
        "load_average": round(os.getloadavg()[0], 1),
        "native": native.status(),
        "versions": {**system.versions(), **{name: _version(name) for name in packages}},
        **options,
    }


def describe(config: Mapping[str, Any]) -> str:
    """One line of the above for the terminal."""
    words = [f"{config['cpu']}, {config['cores']} cores, onnxruntime {config['versions']['onnxruntime']}"]
    words.append(config["native"])
    words.append(f"{config['rounds']} rounds, {config['clock']} clock")
    if config["load_average"] > 0.5 * config["cores"]:
        words.append(f"the machine was busy (load {config['load_average']})")
    return "; ".join(words)


def save(name: str, result: Mapping[str, Any], samples: Mapping[str, Any] | None = None) -> Path:
    """Write `results/NAME.json`, figures to four digits, and the raw samples beside it."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    write_json(path, rounded(result))
    if samples is not None:
        (RESULTS / f"{name}.samples.json").write_text(json.dumps(rounded(samples)) + "\n")
    return path


def rounded(value: Any) -> Any:
    """The same in plain types, every float to four significant digits."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, Mapping):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    return value


def samples_of(contenders: Sequence[Contender]) -> dict[str, list[float]]:
    """The raw times by name."""
    return {contender.name: contender.samples for contender in contenders}


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
