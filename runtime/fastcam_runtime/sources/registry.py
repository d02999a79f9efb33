"""All kinds of sources, and how a URI finds its kind. A new source is one more entry in `KINDS`."""

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
    alpha: bool = False,
) -> Source:
    """Open what `uri` names.

    Args:
        uri: As `fastcam run --help` lists them under INPUT.
        size, fps, flip, loop, paced, alpha: As in `SourceOptions`.

    Raises:
        SourceError: There is no such source, or it cannot be read.
    """
    options = SourceOptions(size, fps, flip, loop, paced, alpha)
    if not uri:
        raise SourceError("the input is empty")
    for kind in KINDS:
        if kind.accepts(uri):
            return kind.open(uri, options)
    scheme = uri.partition("://")[0]
    schemes = sorted(known for kind in KINDS for known in kind.schemes)
    raise SourceError(
        f"{without_password(uri)}: no source of the kind {scheme}://; there are "
        f"{', '.join(known + '://' for known in schemes)}{closest(scheme, schemes)}"
    )
