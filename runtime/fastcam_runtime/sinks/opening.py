"""From the text that a user types to the sink it means."""

from __future__ import annotations

from ..controls import Controls
from ..errors import SinkError
from .base import Sink
from .null import NullSink


def open_sink(uri: str, *, fps: float, controls: Controls, token: str | None = None) -> Sink:
    """Open what `uri` names.

    Args:
        uri: `display://`, `out.mp4` (.avi, .mkv), `frames/%04d.png`, `folder/`, `out.png`,
            `http://[host]:port` for the live page, or `null://`.
        fps: The rate that a recorded video declares.
        controls: What the keys of a window and the buttons of a live page change.
        token: The password of the live page; other sinks have no use for it.

    Raises:
        SinkError: there is no such sink, or it cannot be written.
    """
    if uri == "null://":
        return NullSink()
    raise SinkError(f"{uri}: no such output")
