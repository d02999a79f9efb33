"""Sources that end: every frame is delivered, in order, as fast as it is read or at a given pace."""

from __future__ import annotations

import threading
import time
from abc import abstractmethod

from ..errors import SourceError
from .base import Frame, Image, Source, SourceOptions

_PICTURES_PER_SECOND = 10.0
"""The pace for a viewer where the source has none of its own: pictures in a folder."""


class OrderedSource(Source):
    """A source that is read from its beginning to its end.

    A subclass gives the pictures by `_next` and goes back to the first one by `_rewind`; counting, pace,
    size, flip and loop are done here.
    """

    def __init__(self, name: str, options: SourceOptions, fps: float | None = None) -> None:
        self.name = name
        self.fps = options.fps or fps
        self._options = options
        self._index = 0
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
        with self._reading:
            if self._closed.is_set():
                return None
            image = self._next()
            if image is None and self._index and self._options.loop:
                self._rewind()
                image = self._next()
        if image is None:
            if not self._index:
                raise SourceError(f"{self.name}: not one frame could be read")
            return None
        frame = Frame(self._options.apply(image), self._index, time.monotonic(), self._picture)
        self._index += 1
        return frame

    def close(self) -> None:
        self._closed.set()
        with self._reading:
            self._release()

    def _keep_pace(self) -> None:
        """Wait until the next frame is due, if a rate was asked for or somebody is watching."""
        rate = self._options.fps or (self.fps or _PICTURES_PER_SECOND if self._options.paced else None)
        if rate is None:
            return
        now = time.monotonic()
        if self._due > now:
            self._closed.wait(self._due - now)
        # A late frame does not make the following ones hurry.
        self._due = max(self._due, now) + 1 / rate
