"""Cameras and streams: a thread reads all frames and keeps only the newest."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import ClassVar, Protocol, TypeVar

from ..errors import SourceError, last_line
from ..image import Image
from .base import Frame, Source, SourceOptions
from .rate_limit import RateLimit

logger = logging.getLogger(__name__)

_FIRST_DELAY = 0.5
_LONGEST_DELAY = 30.0
_JOIN_SECONDS = 2.0
"""Seconds before the first retry of a lost source, at most between two retries, and for the thread to end."""


_READER = "fastcam reader of "
"""Names of the threads that are inside a camera library."""


def is_hanging() -> bool:
    """Whether a camera library still holds a thread of a source that was closed, or is being opened."""
    return any(thread.name.startswith(_READER) for thread in threading.enumerate())


_T = TypeVar("_T")


def interruptible(name: str, work: Callable[[], _T]) -> _T:
    """The result of `work`, which may hang in a camera library; a signal is still handled at once.

    Python handles signals between the steps of the main thread only, so that thread must not wait in C.
    """
    outcome: list[_T] = []
    failure: list[BaseException] = []

    def guarded() -> None:
        try:
            outcome.append(work())
        except BaseException as error:  # raised again in the thread of the caller
            failure.append(error)

    thread = threading.Thread(target=guarded, name=_READER + name, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.1)
    if failure:
        raise failure[0]
    return outcome[0]


class Grabber(Protocol):
    """An open camera or stream."""

    @property
    def fps(self) -> float | None:
        """The rate that the camera declares."""

    def grab(self) -> Image | None:
        """Wait for the next image; None if the camera is lost."""

    def release(self) -> None:
        """Release the camera."""


class LiveSource(Source):
    """The newest frame of a camera or stream; reopened whenever it is lost.

    Args:
        name: Its name in messages.
        connect: Opens the camera, now and after every loss; raises `SourceError` if that fails.
        options: Size, rate and flip. `connect` requests the rate from the camera; if the camera is faster all
            the same, as network cameras are, frames are dropped.
        first_delay: Seconds before the first retry; doubled with each failure, up to 30 seconds.

    Raises:
        SourceError: The camera cannot be opened now.
    """

    live: ClassVar[bool] = True

    def __init__(
        self,
        name: str,
        connect: Callable[[], Grabber],
        options: SourceOptions,
        first_delay: float = _FIRST_DELAY,
    ) -> None:
        self.name = name
        self._connect = connect
        self._options = options
        self._first_delay = first_delay
        self._newest: Frame | None = None
        self._arrived = threading.Condition()
        self._closed = threading.Event()
        self._failure: Exception | None = None
        grabber = connect()
        self._rate_limit = RateLimit(options.fps)
        self.fps = min(filter(None, (grabber.fps, options.fps)), default=None)
        self._thread = threading.Thread(target=self._run, args=(grabber,), name=_READER + name, daemon=True)
        self._thread.start()

    def read(self) -> Frame | None:
        with self._arrived:
            self._arrived.wait_for(lambda: self._newest is not None or self._closed.is_set())
            frame, self._newest = self._newest, None
        if self._failure is not None:
            raise SourceError(f"{self.name}: cannot go on: {last_line(self._failure)}") from self._failure
        return None if self._closed.is_set() else frame

    def close(self) -> None:
        if self._closed.is_set():
            return
        self._closed.set()
        with self._arrived:
            self._arrived.notify_all()
        # A camera that hangs must not block the exit: the thread releases it when it can.
        self._thread.join(_JOIN_SECONDS)

    def _run(self, grabber: Grabber) -> None:
        """The reader thread; when it ends, the source ends."""
        try:
            self._read_on(grabber)
        except Exception as error:
            logger.debug("%s: reader thread failed", self.name, exc_info=True)
            self._failure = error
        finally:
            self._closed.set()
            with self._arrived:
                self._arrived.notify_all()

    def _read_on(self, grabber: Grabber) -> None:
        """Publish every frame, and reopen the camera when it is lost."""
        index = 0
        delay = self._first_delay
        while not self._closed.is_set():
            image = grabber.grab()
            if image is not None:
                captured = time.monotonic()
                if self._rate_limit.accepts(captured):
                    self._hand_over(Frame(self._options.apply(image), index, captured))
                index += 1
                delay = self._first_delay
                continue
            self._let_go(grabber)
            logger.warning("%s: lost after %d frames; trying again", self.name, index)
            found = self._find_again(delay)
            if found is None:
                return
            # Keep the delay: a camera that opens but delivers nothing must not be reopened in a tight loop.
            grabber, delay = found
        self._let_go(grabber)

    def _let_go(self, grabber: Grabber) -> None:
        """Release a camera; errors of a lost one do not matter, because it is reopened."""
        try:
            grabber.release()
        except Exception:  # camera libraries have no common error class
            logger.debug("%s: releasing it failed", self.name, exc_info=True)

    def _hand_over(self, frame: Frame) -> None:
        with self._arrived:
            if self._newest is not None:
                self.dropped += 1
            self._newest = frame
            self._arrived.notify_all()

    def _find_again(self, delay: float) -> tuple[Grabber, float] | None:
        """The reopened camera and the delay before the next retry; None once closed."""
        while not self._closed.wait(delay):
            delay = min(2 * delay, _LONGEST_DELAY)
            try:
                grabber = self._connect()
            except SourceError as error:
                logger.info("%s; next try in %.1f s", error, delay)
                continue
            self.reconnects += 1
            logger.info("%s: opened again", self.name)
            return grabber, delay
        return None
