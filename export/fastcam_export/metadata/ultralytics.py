"""The metadata of files that Ultralytics' exporter writes: `task`, `names`, `stride`, `imgsz`."""

from __future__ import annotations

from fastcam_runtime.contract import PREPROCESS, Metadata

from ..detect.families import family_of_metadata
from .clue import Clue, ModelFile
from .labels import NAMES_KEY, parse_names


def read(file: ModelFile) -> Clue | None:
    """0…1: cropped for classifiers, stretched for RT-DETR, letterboxed for others; None for other files."""
    own = file.metadata
    task = own.get("task", "")
    detector = family_of_metadata(own)
    if detector is None:
        return None
    labels = parse_names(own.get(NAMES_KEY, ""))
    if task == "classify":
        return Clue("Ultralytics' metadata (task classify)", PREPROCESS["unit"], "crop", labels)
    where = f"Ultralytics' metadata (task {task or 'not stated'})"
    return Clue(where, detector.preprocess, detector.resize, labels)


def keys(metadata: Metadata) -> dict[str, str]:
    """The keys that let Ultralytics open a grafted file.

    `names` always. The others only for a classifier that is fed as Ultralytics feeds it: they have no key for
    another preprocessing, and would make it answer wrongly.
    """
    if not metadata.labels:
        return {}
    found = {NAMES_KEY: str(dict(enumerate(metadata.labels)))}
    if metadata.detector is None and (metadata.preprocess, metadata.resize) == (PREPROCESS["unit"], "crop"):
        image = metadata.image
        found |= {
            "task": "classify",
            "stride": "1",
            "batch": "1",
            "imgsz": str([image.height, image.width]),
            "channels": str(image.channels),
        }
    return found
