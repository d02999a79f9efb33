"""From the text that a user types to the sink it means."""

from __future__ import annotations

import re
from pathlib import Path

from ..errors import SinkError, closest
from ..live.controls import Controls
from .base import Sink, SinkKind, SinkOptions
from .images import FOLDER, IMAGE, NUMBERED
from .live_page import PAGE
from .null import NULL
from .video import VIDEO
from .window import WINDOW

KINDS: tuple[SinkKind, ...] = (WINDOW, FOLDER, NUMBERED, VIDEO, IMAGE, PAGE, NULL)
"""In the order of the help. The first kind that accepts a URI opens it: `folder/`, even if it is `a.mp4/`."""


def open_sink(
    uri: str, *, fps: float, controls: Controls, token: str | None = None, real_time: bool = False
) -> Sink:
    """Open what `uri` names.

    Args:
        uri: As `fastcam run --help` lists them under OUTPUT.
        fps: The rate that a recorded video declares.
        controls: What the keys of a window and the buttons of a live page change.
        token: The password of the live page, by default the one in the environment's FASTCAM_TOKEN, so that
            it need not stand on a command line. Other sinks have no use for it.
        real_time: Pictures come from a live source: a video is recorded so that it plays as fast as it
            happened, however fast pictures come. Otherwise it has every picture once.

    Raises:
        SinkError: there is no such sink, or it cannot be written.
    """
    if not uri:
        raise SinkError("the output is an empty text")
    for kind in KINDS:
        if kind.accepts(uri):
            return kind.open(uri, SinkOptions(fps, controls, token, real_time))
    raise SinkError(f"{uri}: {_complaint(uri)}")


def is_interactive(uri: str) -> bool:
    """Whether a person looks at the sink that `uri` names."""
    return any(kind.interactive and kind.accepts(uri) for kind in KINDS)


def _complaint(uri: str) -> str:
    """Why `uri` names no sink, and what could be meant."""
    scheme, separator, _ = uri.partition("://")
    if separator:
        schemes = [known for kind in KINDS for known in kind.schemes]
        examples = [example for kind in KINDS if kind.schemes for example in kind.usage]
        return f"no such output; there are {', '.join(examples)} and files{closest(scheme, schemes)}"
    page = re.fullmatch(r"(?:http:/?)?([\w.-]*:)?(\d+)", uri)
    if page:
        return f"a live page is named http://{page[1] or ':'}{page[2]}"
    endings = [suffix for kind in KINDS for suffix in kind.suffixes]
    return (
        f"cannot tell what to write by the ending {Path(uri).suffix.lower()!r}; there are "
        f"{', '.join(endings)}, folder/ and frames/%04d.png"
    )
