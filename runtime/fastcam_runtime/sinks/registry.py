"""From the text that a user types to the sink it means."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ..errors import SinkError, closest
from ..live.controls import Controls
from .base import Sink
from .images import IMAGE_SUFFIXES, ImageFile, ImageFolder, NumberedImages
from .null import NullSink
from .video import CODECS, VideoFile

SCHEMES = ("display", "http", "null")


def open_sink(
    uri: str, *, fps: float, controls: Controls, token: str | None = None, real_time: bool = False
) -> Sink:
    """Open what `uri` names.

    | uri | sink |
    |---|---|
    | `display://` | a window |
    | `http://:8000`, `http://0.0.0.0:8000` | a live page, for this machine or for the network |
    | `out.mp4`, `out.avi`, `out.mkv` | a video |
    | `out.png` | one picture |
    | `frames/%04d.png` | every picture in a file of its own, numbered |
    | `folder/` | the same, under the names of the pictures that were read where they have any |
    | `null://` | nothing |

    Args:
        uri: One of the above.
        fps: The rate that a recorded video declares.
        controls: What the keys of a window and the buttons of a live page change.
        token: The password of the live page, by default the one in the environment's FASTCAM_TOKEN, so that
            it need not stand on a command line. Other sinks have no use for it.
        real_time: Pictures come from a live source: a video is recorded so that it plays as fast as it
            happened, however fast pictures come. Otherwise it has every picture once.

    Raises:
        SinkError: there is no such sink, or it cannot be written.
    """
    scheme, separator, _ = uri.partition("://")
    if not separator:
        return _open_file(uri, fps, real_time)
    if uri == "null://":
        return NullSink()
    if uri == "display://":
        from .window import Window

        return Window(controls)
    if scheme == "http":
        from .live_page.page import LivePage

        # An empty setting is none; an empty argument is a mistake, and refused.
        return LivePage(uri, controls, os.environ.get("FASTCAM_TOKEN") or None if token is None else token)
    raise SinkError(
        f"{uri}: no such output; there are display://, http://[host]:port, null:// and files"
        f"{closest(scheme, SCHEMES)}"
    )


def _open_file(name: str, fps: float, real_time: bool) -> Sink:
    if not name:
        raise SinkError("the output is an empty text")
    path = Path(name).expanduser()
    if name.endswith("/") or path.is_dir():
        return ImageFolder(path, name)
    if "%" in name:
        return NumberedImages(str(path))
    suffix = path.suffix.lower()
    if suffix in CODECS:
        return VideoFile(path, fps, real_time=real_time)
    if suffix in IMAGE_SUFFIXES:
        return ImageFile(path)
    page = re.fullmatch(r"(?:http:/?)?([\w.-]*:)?(\d+)", name)
    if page:
        raise SinkError(f"{name}: a live page is named http://{page[1] or ':'}{page[2]}")
    raise SinkError(
        f"{name}: cannot tell what to write by the ending {suffix!r}; there are "
        f"{', '.join((*CODECS, *IMAGE_SUFFIXES))}, folder/ and frames/%04d.png"
    )
