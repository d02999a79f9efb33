"""All kinds of sinks, and how a URI finds its kind. A new sink is one more entry in `KINDS`."""

from __future__ import annotations

import re
from pathlib import Path

from ..errors import SinkError, closest
from ..live.controls import Controls
from ..live.metrics import LoopMetrics
from ..network.certificate import Certificate
from .base import Sink, SinkKind, SinkOptions
from .images import FOLDER, IMAGE, NUMBERED
from .kept_folder import KeptFolder
from .live_page import PAGE
from .null import NULL
from .video import VIDEO
from .window import WINDOW

KINDS: tuple[SinkKind, ...] = (WINDOW, FOLDER, NUMBERED, VIDEO, IMAGE, PAGE, NULL)
"""In the order of the help. The first kind that accepts a URI opens it, so `a.mp4/` is a folder."""


def open_sink(
    uri: str,
    *,
    fps: float,
    controls: Controls,
    token: str | None = None,
    real_time: bool = False,
    metrics: LoopMetrics | None = None,
    kept: KeptFolder | None = None,
    certificate: Certificate | None = None,
) -> Sink:
    """Open what `uri` names.

    Args:
        uri: As `fastcam run --help` lists them under OUTPUT.
        fps: The frame rate of a recorded video.
        controls: Changed by the keys of a window and the buttons of a live page.
        token: The password of the live page. By default the environment variable FASTCAM_TOKEN, which keeps
            it off the command line.
        real_time: The source is live: repeat or drop pictures so that a recorded video plays in real time.
            Otherwise every picture is recorded once.
        metrics: What the loop counts, for a live page to show.
        certificate: For a live page by https.
        kept: Where the record button of a live page writes to; None for no such button.

    Raises:
        SinkError: There is no such sink, or it cannot be written to.
    """
    if not uri:
        raise SinkError("the output is empty")
    for kind in KINDS:
        if kind.accepts(uri):
            options = SinkOptions(
                fps, controls, token, real_time, metrics or LoopMetrics(), kept, certificate
            )
            return kind.open(uri, options)
    raise SinkError(f"{uri}: {_complaint(uri)}")


def is_interactive(uri: str) -> bool:
    """Whether a person looks at the sink that `uri` names."""
    return any(kind.interactive and kind.accepts(uri) for kind in KINDS)


def _complaint(uri: str) -> str:
    """Why no sink matches `uri`, with the candidates."""
    scheme, separator, _ = uri.partition("://")
    if separator:
        schemes = [known for kind in KINDS for known in kind.schemes]
        examples = [example for kind in KINDS if kind.schemes for example in kind.usage]
        return f"no such output; there are {', '.join(examples)} and files{closest(scheme, schemes)}"
    page = re.fullmatch(r"(?:http:/?)?([\w.-]*:)?(\d+)", uri)
    if page:
        return f"write a live page as http://{page[1] or ':'}{page[2]}"
    endings = dict.fromkeys(suffix for kind in KINDS for suffix in kind.suffixes)
    return (
        f"cannot tell the format from the suffix {Path(uri).suffix.lower()!r}; there are "
        f"{', '.join(endings)}, folder/ and frames/%04d.png"
    )
