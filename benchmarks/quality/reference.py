"""The committed results of the quality measurements, small enough to read in a change."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastcam_runtime.errors import FastcamError

from ..paths import REFERENCE
from . import study_plan
from .evaluations import EVALUATIONS
from .json_lines import read_results
from .retraining import protocol

FIGURES = REFERENCE / "quality"
STUDY, RETRAIN = "study.json", "retrain.jsonl"
RETRAIN_EARLIER = "retrain-earlier.jsonl"
"""Cells of a run on other machines."""
WEIGHTS, FIRST_SCALE = "weights.json", "first-scale.json"
BESIDE = PACKAGES, RECIPROCAM, UNTRAINED = "packages.json", "reciprocam.json", "untrained.json"
"""Maps that were measured beside the study."""

Scores = Mapping[str, Mapping[str, list[float]]]
"""The study: by network and map, the score of every picture, in the order of the plan."""


def accept(results: Path, reference: Path = FIGURES) -> None:
    """Make the results in a folder the reference; others are not changed, nor other networks of the study.

    Raises:
        FastcamError: An evaluation was stopped, or the maps of a network were not scored on as many pictures
            as each other. The reference may then be changed in part.
    """
    reference.mkdir(parents=True, exist_ok=True)
    if (results / "study.jsonl").exists():
        both = {**_stored_study(reference), **_condensed(results / "study.jsonl")}
        own = {
            network: {name: one for name, one in maps.items() if name not in study_plan.BESIDE}
            for network, maps in both.items()
        }
        text = json.dumps(own, ensure_ascii=False)
        (reference / STUDY).write_text(text + "\n", encoding="utf-8")
    for name in (RETRAIN, WEIGHTS, FIRST_SCALE, *BESIDE):
        if (results / name).exists():
            shutil.copyfile(results / name, reference / name)
    for name in EVALUATIONS:
        if (results / name).exists():
            content = json.loads((results / name).read_text(encoding="utf-8"))
            if content["stopped"]:
                raise FastcamError(f"{results / name}: the evaluation was stopped")
            content["evaluated"] = len(content.pop("pictures"))
            text = json.dumps(_rounded(content), ensure_ascii=False, indent=1)
            (reference / name).write_text(text + "\n", encoding="utf-8")
    for network, maps in study(reference).items():
        whole = len(maps["saliency_map"])
        for name, one in maps.items():
            if len(one) != whole:
                raise FastcamError(f"{network}: {name} has {len(one)} pictures, the study has {whole}")


def study(reference: Path = FIGURES) -> Scores:
    """The scores of the study, with the maps that were measured beside it; empty if none was accepted.

    The networks stand in the order of the plan.
    """
    stored = _stored_study(reference)
    found = {name: stored[name] for name in sorted(stored, key=_place)}
    for name in BESIDE:
        for network, scores in (result(name, reference) or {}).items():
            if network in found:
                beside = {name: one for name, one in scores.items() if name in study_plan.BESIDE}
                found[network] = {**found[network], **beside}
    return found


def retraining(reference: Path = FIGURES, name: str = RETRAIN) -> list[dict[str, Any]]:
    """The cells of the retraining under this version of its plan."""
    return [line for line in read_results(reference / name) if line["protocol"] == protocol.VERSION]


def result(name: str, reference: Path = FIGURES) -> Any:
    """The content of a file of results; None if it was not accepted."""
    path = reference / name
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def _place(network: str) -> int:
    """Where a network stands in the plan; one that is not there comes last."""
    return study_plan.NAMES.index(network) if network in study_plan.NAMES else len(study_plan.NAMES)


def _stored_study(reference: Path) -> dict[str, dict[str, list[float]]]:
    return result(STUDY, reference) or {}


def _condensed(path: Path) -> dict[str, dict[str, list[float]]]:
    lines = [line for line in read_results(path) if line["plan"] == study_plan.VERSION]
    found: dict[str, dict[str, list[float]]] = {}
    for line in sorted(lines, key=lambda line: line["number"]):
        for name, values in line["maps"].items():
            found.setdefault(line["network"], {}).setdefault(name, []).append(round(values["score"], 4))
    return found


def _rounded(content: Any) -> Any:
    if isinstance(content, float):
        return round(content, 5)
    if isinstance(content, dict):
        return {key: _rounded(value) for key, value in content.items()}
    return [_rounded(value) for value in content] if isinstance(content, list) else content
