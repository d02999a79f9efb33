"""`null://`: discards every picture; for measurements and for runs without a screen."""

from __future__ import annotations

from ..image import Image
from .base import Sink, SinkKind, Status


class NullSink(Sink):
    """Discards every picture."""

    def write(self, picture: Image, status: Status) -> None:
        pass


NULL = SinkKind(
    {"null://": "nothing: pictures are drawn and discarded"},
    lambda uri, options: NullSink(),
    ("null",),
    matches="null://".__eq__,
)
