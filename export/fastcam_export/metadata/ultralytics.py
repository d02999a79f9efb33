"""The metadata of files that Ultralytics' exporter writes: `task`, `names`, `stride`, `imgsz`."""

from __future__ import annotations

from dataclasses import replace

from fastcam_runtime.contract import PREPROCESS

from .clue import Clue, ModelFile
from .labels import NAMES_KEY, parse_names

BARS = 114
"""The gray of the bars around a letterboxed picture."""


def read(file: ModelFile) -> Clue | None:
    """0…1, letterboxed for detectors and alike, cropped for classifiers; None for files of others."""
    own = file.metadata
    task = own.get("task", "")
    if not (own.get("author") == "Ultralytics" or {"task", "stride", NAMES_KEY} <= set(own)):
        return None
    labels = parse_names(own.get(NAMES_KEY, ""))
    unit = PREPROCESS["unit"]
    if task == "classify":
        return Clue("Ultralytics' metadata (task classify)", unit, "crop", labels)
    return Clue(
        f"Ultralytics' metadata (task {task or 'not stated'})", replace(unit, pad=BARS), "letterbox", labels
    )
