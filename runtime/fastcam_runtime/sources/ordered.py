"""Sources with an end: all frames in order, as fast as possible or at their frame rate."""

from __future__ import annotations

import threading
import time
from abc import abstractmethod

from ..errors import SourceError
from ..image import Image
from .base import Frame, Source, SourceOptions

PICTURES_PER_SECOND = 10.0
"""The pace for a viewer if the source has no frame rate: pictures in a folder."""

_ROUNDING = 1e-6
"""Tolerance for the rounding error of a product of rates, in frames."""


class OrderedSource(Source):
    """A source that is read from beginning to end.

    A subclass implements `_next` and `_rewind`. This class does counting, pace, size, flip and loop. It drops
    frames if the requested rate is lower than that of the source.
    """

    def __init__(self, name: str, options: SourceOptions, fps: float | None = None) -> None:
        self.name = name
        self.fps = min(options.fps, fps) if options.fps and fps else options.fps or fps
        self._step = fps / self.fps if fps and self.fps else 1.0
        """Frames of the source per delivered frame."""
        self._options = options
        self._index = self._given = 0
        self._due = 0.0
        self._picture = ""
        """The file name of the image that `_next` returned, if it has one."""
        self._closed = threading.Event()
        self._reading = threading.Lock()

    @abstractmethod
    def _next(self) -> Image | None:
        """The next image; None at the end."""

    @abstractmethod
    def _rewind(self) -> None:
        """Go back to the beginning."""

    def _release(self) -> None:
        """Release the file; called while no image is being read."""

    def read(self) -> Frame | None:
        self._keep_pace()
        started = time.monotonic()
        with self._reading:
            while not self._closed.is_set():
                image = self._next()
                if image is None and self._index and self._options.loop:
                    self._rewind()
                    image = self._next()
                if image is None:
                    break
                index = self._index
                self._index += 1
                if index >= self._given * self._step - _ROUNDING:
                    self._given += 1
                    return Frame(self._options.apply(image), index, started, self._picture)
        if not self._index and not self._closed.is_set():
            raise SourceError(f"{self.name}: no frame could be read")
        return None

    def close(self) -> None:
        self._closed.set()
        with self._reading:
            self._release()

    def _keep_pace(self) -> None:
        """Wait until the next frame is due, if the source is paced."""
        if not self._options.paced:
            return
        rate = self.fps or PICTURES_PER_SECOND
        now = time.monotonic()
        if self._due > now:
            self._closed.wait(self._due - now)
        # After a late frame, the following ones are not sped up.
        self._due = max(self._due, now) + 1 / rate
