"""The taps that the rule finds in a model."""

from __future__ import annotations

from fastcam_export import Options
from fastcam_export.analysis.plan import plan
from fastcam_export.analysis.taps import Tap
from fastcam_export.load import load


def taps_of(model: object, **options: object) -> list[Tap]:
    return plan(load(model), Options(**options)).taps  # type: ignore[arg-type]


def found(model: object, **options: object) -> list[tuple[str, int, int]]:
    """(name, channels, height) of each tap."""
    return [(tap.name, tap.shape[1], tap.shape[2]) for tap in taps_of(model, **options)]
