"""From the text that a user types to the source it means."""

from __future__ import annotations

from ..errors import SourceError, closest
from .base import Source, SourceKind, SourceOptions
from .capture import STREAM, WEBCAM, without_password
from .csi import CSI
from .files import FILES
from .test_clip import TEST_CLIP

KINDS: tuple[SourceKind, ...] = (WEBCAM, CSI, STREAM, FILES, TEST_CLIP)
"""In the order of the help. The first kind that accepts a URI opens it."""


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

    Args:
        uri: As `fastcam run --help` lists them under INPUT.
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
    for kind in KINDS:
        if kind.accepts(uri):
            return kind.open(uri, options)
    scheme = uri.partition("://")[0]
    schemes = sorted(known for kind in KINDS for known in kind.schemes)
    raise SourceError(
        f"{without_password(uri)}: no source of the kind {scheme}://; there are "
        f"{', '.join(known + '://' for known in schemes)}{closest(scheme, schemes)}"
    )
