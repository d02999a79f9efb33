"""One line of JSON per frame while the loop runs, for other programs: to a file or to standard output."""

from __future__ import annotations

import json
import os
import stat
import sys
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ..classes import Prediction
from ..detect.detections import Detection, map_shares
from ..errors import SinkError
from ..explanation import DETECT, Explanation
from ..image import Array, Image
from ..regions import Region, regions
from ..uri_kinds import local_path
from .atomic import prepare_folder
from .base import Sink, Status, finite

STDOUT = "-"
SUFFIXES = (".jsonl", ".ndjson")
_REGIONS = 5
"""Most regions per line, the strongest first."""


class JsonLines(Sink):
    """Writes one line per frame, each in one piece: class, score, the best five, regions and latency.

    Lines are appended, so a restart loses nothing, and a log rotation tool may truncate the file at any time.
    The target `-` is standard output.

    Raises:
        SinkError: The file cannot be written, or is of another kind.
    """

    def __init__(self, target: str) -> None:
        self._name = target
        self._descriptor = -1
        if target == STDOUT:
            return
        path = local_path(target)
        check_lines_path(path)
        prepare_folder(path.parent, target)
        try:
            self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        except OSError as error:
            raise SinkError(f"{target}: {error.strerror}") from error

    def write(self, picture: Image, status: Status) -> None:
        line = json.dumps(describe_frame(status), ensure_ascii=False) + "\n"
        data = line.encode(errors="replace")  # a file's name may not be UTF-8
        if self._name == STDOUT:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
            return
        self._append(data)

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _append(self, data: bytes) -> None:
        try:
            written = os.write(self._descriptor, data)
            if written == len(data):
                return
            # The disk is full: remove the partial line.
            os.ftruncate(self._descriptor, os.fstat(self._descriptor).st_size - written)
        except OSError as error:
            raise SinkError(f"{self._name}: {error.strerror}") from error
        raise SinkError(f"{self._name}: the disk is full")


def check_lines_path(path: Path) -> None:
    """Refuse to append to a file whose suffix is not one of JSON lines; pipes and devices may have any name.

    Raises:
        SinkError: It is a folder, or a file of another kind.
    """
    if not path.exists():
        return
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise SinkError(f"{path}: is a folder, not a file")
    if stat.S_ISREG(mode) and path.suffix.lower() not in SUFFIXES:
        raise SinkError(f"{path}: exists and is not a {SUFFIXES[0]} file; name another file for the lines")


def describe_frame(status: Status) -> dict[str, Any]:
    """The description of one frame, in JSON types.

    `class`, `label` and `score` are of the class with the highest score; `explained` is there if a class or
    a box was chosen. `regions` is null if the view shows no single map.
    """
    best = status.prediction
    return {
        "frame": status.frame,
        "time": format_time(status.time),
        **({"file": status.name} if status.name else {}),
        "class": best.index if best else None,
        "label": best.label if best else None,
        "score": finite(best.score) if best else None,
        **({"explained": status.label} if status.class_choice is not None or _chosen(status) else {}),
        "top": describe_classes(status.top),
        "regions": describe_regions(status),
        **describe_detections(status),
        "latency_ms": {stage: finite(milliseconds) for stage, milliseconds in status.latency.items()},
        **({"cold": True} if status.cold else {}),
    }


def _chosen(status: Status) -> Detection | None:
    """The detection that the maps are of, if one was chosen."""
    return None if status.explanation is None else status.explanation.chosen


def describe_classes(top: tuple[Prediction, ...]) -> list[dict[str, Any]]:
    """Classes with their scores, in JSON types."""
    return [{"class": each.index, "label": each.label, "score": finite(each.score)} for each in top]


def describe_regions(status: Status) -> list[dict[str, Any]] | None:
    """The regions of the map on display; None if the view shows no map, several maps, or LOVI."""
    explanation = status.explanation
    saliency = None if explanation is None else _single_map(explanation)
    if explanation is None or saliency is None:
        return None
    return [_describe(region) for region in regions(saliency, geometry=explanation.geometry)[:_REGIONS]]


def describe_detections(status: Status) -> dict[str, Any]:
    """`detections` of a detector: box, class, score, row, and the share of the map inside the box.

    Empty for any other network. `energy` is null if the view shows no single map.
    """
    explanation = status.explanation
    if explanation is None or DETECT not in explanation.timings:
        return {}
    saliency = _single_map(explanation)
    found = explanation.detections
    shares: list[float | None] = [None] * len(found)
    if saliency is not None:
        shares = [*map_shares(saliency, explanation.geometry, found)]
    return {
        "detections": [
            {
                "box": [round(side, 1) for side in each.box],
                "class": each.index,
                "label": each.label,
                "score": finite(each.score),
                "row": each.row,
                "energy": finite(share),
                **({"explained": True} if each == explanation.chosen else {}),
            }
            for each, share in zip(found, shares, strict=True)
        ]
    }


def _single_map(explanation: Explanation) -> Array | None:
    """The map on display, H×W; None if there is none, if there are several, or for LOVI."""
    maps = list(explanation.maps.values())
    return maps[0] if len(maps) == 1 and maps[0].ndim == 2 else None


def _describe(region: Region) -> dict[str, Any]:
    return {"box": list(region.box), "share": finite(region.share)}


def format_time(seconds: float) -> str:
    """A moment as ISO 8601 in UTC with milliseconds."""
    moment = datetime.fromtimestamp(seconds or time.time(), timezone.utc)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
