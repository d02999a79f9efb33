"""`null://`: pictures are drawn and let go; for measuring, and for running without a screen."""

from __future__ import annotations

from ..image import Image
from .base import Sink, SinkKind, Status


class NullSink(Sink):
    """Takes every picture and keeps none."""

    def write(self, picture: Image, status: Status) -> None:
        pass


NULL = SinkKind(
    {"null://": "nothing: pictures are drawn and thrown away"},
    lambda uri, options: NullSink(),
    ("null",),
    matches="null://".__eq__,
)
