"""From the text that a user types to the source it means."""

from __future__ import annotations

import re

from ..errors import SourceError, closest
from .base import Source, SourceOptions

SCHEMES = ("csi", "http", "https", "rtsp", "rtsps", "test")


def open_source(
    uri: str,
    *,
    size: tuple[int, int] | None = None,
    fps: float | None = None,
    flip: str | None = None,
    loop: bool = False,
    paced: bool = False,
) -> Source:
    """Open what `uri` names.

    | uri | source |
    |---|---|
    | `0`, `/dev/video0` | a webcam |
    | `csi://0` | the camera connector of a Raspberry Pi or a Jetson |
    | `rtsp://…`, `http://…`, `https://…` | a network stream, opened again when it is lost; or a video |
    | `clip.mp4`, `photo.jpg` | a video, one image |
    | `folder/`, `'photos/*.jpg'` | images in the order of their names |
    | `test://?size=640x480&fps=30&frames=100` | the built-in clip |

    Args:
        uri: One of the above.
        size: Width and height of every frame; a camera is asked for it, anything else is resized.
        fps: A camera is asked for this rate; of whatever has a higher one, frames are left out;
            photos, which have no rate, get this one.
        flip: `horizontal`, `vertical` or `both`.
        loop: Begin a file, folder or clip again at its end.
        paced: Give the frames of a file at its rate, for somebody who watches; else as fast as they are read.

    Raises:
        SourceError: there is no such source, or it cannot be read.
    """
    options = SourceOptions(size, fps, flip, loop, paced)
    if not uri:
        raise SourceError("the input is an empty text")
    scheme, separator, rest = uri.partition("://")
    if not separator:
        return _open_local(uri, options)
    # Each kind is imported when it is asked for: a camera's library need not be there for a file.
    if scheme == "test":
        from .test_clip import TestClip

        return TestClip.from_uri(uri, options)
    if scheme == "csi":
        from .csi import open_csi

        return open_csi(rest, options)
    if scheme in SCHEMES:
        from .capture import open_stream

        return open_stream(uri, options)
    from .capture import without_password

    raise SourceError(
        f"{without_password(uri)}: no source of the kind {scheme}://; there are "
        f"{', '.join(known + '://' for known in SCHEMES)}{closest(scheme, SCHEMES)}"
    )


def _open_local(name: str, options: SourceOptions) -> Source:
    """A device, a file, a folder or a pattern."""
    if re.fullmatch(r"\d+|/dev/video\d+", name):
        from .capture import open_webcam

        return open_webcam(name, options)
    from .files import open_files

    return open_files(name, options)
