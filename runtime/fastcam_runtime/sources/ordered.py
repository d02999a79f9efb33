"""Sources that end: frames are delivered in order, as fast as they are read or at the pace of the source."""

from __future__ import annotations

import threading
import time
from abc import abstractmethod

from ..errors import SourceError
from ..image import Image
from .base import Frame, Source, SourceOptions

PICTURES_PER_SECOND = 10.0
"""The pace for a viewer where the source has none of its own: pictures in a folder."""

_ROUNDING = 1e-6
"""The part of a frame by which a product of rates may be off."""


class OrderedSource(Source):
    """A source that is read from its beginning to its end.

    A subclass gives the pictures by `_next` and goes back to the first one by `_rewind`; counting, pace,
    size, flip and loop are done here. If a lower rate is asked for than the source has, frames are left out.
    """

    def __init__(self, name: str, options: SourceOptions, fps: float | None = None) -> None:
        self.name = name
        self.fps = min(options.fps, fps) if options.fps and fps else options.fps or fps
        self._step = fps / self.fps if fps and self.fps else 1.0
        """Pictures of the source for one that is delivered."""
        self._options = options
        self._index = self._given = 0
        self._due = 0.0
        self._picture = ""
        """The name of the picture that `_next` gave, where it has one."""
        self._closed = threading.Event()
        self._reading = threading.Lock()

    @abstractmethod
    def _next(self) -> Image | None:
        """The next picture, None at the end."""

    @abstractmethod
    def _rewind(self) -> None:
        """Go back to before the first picture."""

    def _release(self) -> None:
        """Let go of the file; called once no picture is being read."""

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
            raise SourceError(f"{self.name}: not one frame could be read")
        return None

    def close(self) -> None:
        self._closed.set()
        with self._reading:
            self._release()

    def _keep_pace(self) -> None:
        """Wait until the next frame is due, if somebody is watching."""
        if not self._options.paced:
            return
        rate = self.fps or PICTURES_PER_SECOND
        now = time.monotonic()
        if self._due > now:
            self._closed.wait(self._due - now)
        # A late frame does not make the following ones hurry.
        self._due = max(self._due, now) + 1 / rate
