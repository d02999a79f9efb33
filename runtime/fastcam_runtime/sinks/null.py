"""`null://`: pictures are drawn and let go; for measuring, and for running without a screen."""

from __future__ import annotations

from ..image import Image
from .base import Sink, Status


class NullSink(Sink):
    """Takes every picture and keeps none."""

    def write(self, picture: Image, status: Status) -> None:
        pass
