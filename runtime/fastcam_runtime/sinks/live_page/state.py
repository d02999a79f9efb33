"""The page's data as JSON: the status, which it polls, and the choices, which it reads once."""

from __future__ import annotations

from typing import Any

from ...classes import Prediction
from ...draw import colormaps
from ...live.controls import Controls
from ...live.metrics import LoopMetrics, overdue
from ..base import Status, finite
from ..json_lines import describe_classes
from .latest_frame import LatestFrame
from .recorder import Recorder

_STOPS = 9
"""Colours of a colour map in its legend."""


def page_status(
    controls: Controls, latest: LatestFrame, metrics: LoopMetrics, recorder: Recorder | None
) -> dict[str, Any]:
    """What the page shows besides the picture."""
    status = latest.status or Status(frame=-1)
    width, height = latest.size
    silent = None if controls.paused else overdue(latest.age, finite(status.fps))
    latency = metrics.latest or status.latency
    return {
        "frame": status.frame,
        "label": status.label,
        "score": finite(status.score),
        "prediction": _prediction(status.prediction),
        "top": describe_classes(status.top),
        "fps": finite(status.fps) if silent is None else None,
        "history": metrics.recent_history(),
        "silent": silent,
        "latency": {stage: finite(milliseconds) for stage, milliseconds in latency.items()},
        "cold": status.cold,
        "dropped": status.dropped,
        "width": width,
        "height": height,
        "views": controls.views,
        "view": controls.view,
        "class": controls.class_choice,
        "has_classes": controls.has_classes,
        "has_boxes": controls.has_boxes,
        "box": _box(status),
        "look": controls.look._asdict() if controls.look else None,
        "paused": controls.paused,
        "recorder": None if recorder is None else _recorder(recorder),
    }


def _box(status: Status) -> dict[str, Any] | None:
    """The box that the map is of, if one was chosen."""
    chosen = status.explanation.chosen if status.explanation is not None else None
    return None if chosen is None else {"label": chosen.label, "score": finite(chosen.score)}


def page_choices(controls: Controls) -> dict[str, Any]:
    """The labels, and the colour maps with a few of their colours each."""
    return {
        "labels": controls.labels,
        "colormaps": {name: _colours(name) for name in controls.colormaps},
    }


def _prediction(best: Prediction | None) -> dict[str, Any] | None:
    return describe_classes((best,))[0] if best else None


def _colours(name: str) -> list[str]:
    table = colormaps.table(name).reshape(256, 3)
    steps = (round(255 * i / (_STOPS - 1)) for i in range(_STOPS))
    return ["#{2:02x}{1:02x}{0:02x}".format(*map(int, table[step])) for step in steps]


def _recorder(recorder: Recorder) -> dict[str, Any]:
    return {
        "recording": recorder.recording,
        "seconds": round(recorder.seconds, 1),
        "error": recorder.error,
        "limit": recorder.folder.bytes,
        "frames_kept": recorder.frames_kept,
        "recordings": [{"name": kept.name, "bytes": kept.bytes} for kept in recorder.recordings()],
    }
