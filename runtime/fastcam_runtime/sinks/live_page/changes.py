"""The requests of the page's buttons: a JSON object, checked as a whole before anything changes."""

from __future__ import annotations

import json
from typing import Any

from ...errors import SinkError
from ...live.controls import Controls
from .recorder import Recorder

_CHANGES: dict[str, tuple[type, ...]] = {
    "view": (str,),
    "class": (str, int, type(None)),
    "paused": (bool,),
    "colormap": (str,),
    "alpha": (int, float),
    "recording": (bool,),
    "keep": (bool,),
    "box": (list, int, type(None)),
}
_FAR = 1e6
"""Pixels; no picture is as large."""


def parse_changes(body: bytes) -> dict[str, Any]:
    """The JSON object in `body`, with its keys and types checked.

    Raises:
        SinkError: It is not such an object.
    """
    try:
        changes = json.loads(body)
    except (ValueError, RecursionError):
        raise SinkError("the body is not JSON") from None
    if not isinstance(changes, dict) or not changes:
        raise SinkError(f"the body must be an object with any of {', '.join(_CHANGES)}")
    for key, value in changes.items():
        if key not in _CHANGES:
            raise SinkError(f"no control {key[:40]!r}; there are {', '.join(_CHANGES)}")
        # In Python, bool is a subclass of int.
        if not isinstance(value, _CHANGES[key]) or (isinstance(value, bool) and bool not in _CHANGES[key]):
            raise SinkError(f"{key} cannot be {json.dumps(value)[:40]}")
    point = changes.get("box")
    if isinstance(point, list) and not (len(point) == 2 and all(_is_number(value) for value in point)):
        raise SinkError("box must be a number, or a point [x, y] of the picture")
    return changes


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _FAR


def apply_changes(changes: dict[str, Any], controls: Controls, recorder: Recorder | None) -> None:
    """Apply all changes, or none if one is invalid.

    Raises:
        FastcamError: One is invalid.
    """
    choice = changes.get("class")
    choice = None if choice is None else str(choice)
    look = {key: changes[key] for key in ("colormap", "alpha") if key in changes}
    if "view" in changes:
        controls.check_view(changes["view"])
    controls.check_class(choice)
    controls.check_look(**look)
    controls.check_box(changes.get("box"))
    if ("recording" in changes or changes.get("keep")) and recorder is None:
        raise SinkError("there is no folder to keep anything in")
    if "view" in changes:
        controls.set_view(changes["view"])
    if "class" in changes:
        controls.set_class(choice)
    if "box" in changes:
        controls.set_box(changes["box"])
    if look:
        controls.set_look(**look)
    if "paused" in changes:
        controls.set_paused(changes["paused"])
    if changes.get("keep"):
        controls.request_keep()
    if "recording" in changes and recorder is not None:
        (recorder.start if changes["recording"] else recorder.stop)()
