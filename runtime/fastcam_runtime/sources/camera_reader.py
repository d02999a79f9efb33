"""The thread that reads a camera; handles undecodable frames, lost cameras and hanging ones."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Protocol

from ..errors import SourceError
from ..image import Image
from .back_off import BackOff

logger = logging.getLogger(__name__)

READER = "fastcam reader of "
"""Prefix of the names of threads that may be inside a camera library."""

_MOST_FAILED_READS = 16
"""Reads that may fail in a row before a camera counts as lost. A lost stream fails immediately each time."""
_PAUSE = 0.01
"""Seconds between two failed reads."""
_SLOW_FAILURE = 4.0
"""A read that fails after this many seconds was a timeout, not a bad picture."""


class Grabber(Protocol):
    """An open camera or stream."""

    @property
    def fps(self) -> float | None:
        """The rate that the camera declares."""

    def grab(self) -> Image | None:
        """Wait for the next image; None if it cannot be decoded or the camera is lost."""

    def release(self) -> None:
        """Release the camera."""


class CameraReader(threading.Thread):
    """Reads a camera until `end` is called; a lost camera is reopened.

    Args:
        name: The camera's name in messages.
        connect: Opens the camera; raises `SourceError` if that fails.
        grabber: The camera, if it is open already.
        back_off: The waits between two tries.
        deliver: Called with every image, and the number of undecodable ones before it.
        reopened: Called when a lost camera was opened again.
        done: Called at the end, with the error if there was one.
    """

    def __init__(
        self,
        name: str,
        connect: Callable[[], Grabber],
        grabber: Grabber | None,
        back_off: BackOff,
        *,
        deliver: Callable[[CameraReader, Image, int], None],
        reopened: Callable[[CameraReader], None],
        done: Callable[[CameraReader, Exception | None], None],
    ) -> None:
        super().__init__(name=READER + name, daemon=True)
        self._camera = name
        self._connect = connect
        self._grabber = grabber
        self._back_off = back_off
        self._deliver = deliver
        self._reopened = reopened
        self._done = done
        self._ending = threading.Event()
        self._inside_since: float | None = None
        """When the camera library was called; None while this thread is not in it."""
        self._images = 0

    @property
    def stuck_seconds(self) -> float:
        """How long the camera library has not returned."""
        since = self._inside_since
        return 0.0 if since is None else time.monotonic() - since

    def end(self) -> None:
        """Ask the thread to end. It releases the camera as soon as the library returns."""
        self._ending.set()

    def run(self) -> None:
        failure = None
        try:
            self._read_on()
        except Exception as error:
            logger.debug("%s: reader thread failed", self._camera, exc_info=True)
            failure = error
        finally:
            self._done(self, failure)

    def _read_on(self) -> None:
        grabber = self._grabber
        self._grabber = None
        while not self._ending.is_set():
            grabber = grabber or self._find_again()
            if grabber is None:
                return
            try:
                self._read_while_there(grabber)
            finally:
                self._let_go(grabber)
                grabber = None
            if not self._ending.is_set():
                logger.warning("%s: lost after %d frames; trying again", self._camera, self._images)

    def _read_while_there(self, grabber: Grabber) -> None:
        """Deliver the images of an open camera until it is lost."""
        failed = 0
        while not self._ending.is_set():
            began = self._inside_since = time.monotonic()
            try:
                image = grabber.grab()
            finally:
                self._inside_since = None
            if image is not None:
                self._images += 1
                self._back_off.reset()
                self._deliver(self, image, failed)
                failed = 0
                continue
            failed += 1
            if failed >= _MOST_FAILED_READS or time.monotonic() - began > _SLOW_FAILURE:
                return
            self._ending.wait(_PAUSE)

    def _let_go(self, grabber: Grabber) -> None:
        """Release a camera; errors of a lost one do not matter, because it is reopened."""
        self._inside_since = time.monotonic()
        try:
            grabber.release()
        except Exception:  # camera libraries have no common error class
            logger.debug("%s: releasing it failed", self._camera, exc_info=True)
        finally:
            self._inside_since = None

    def _find_again(self) -> Grabber | None:
        """The reopened camera; None once the thread must end."""
        while not self._ending.wait(wait := self._back_off.next_wait()):
            self._inside_since = time.monotonic()
            try:
                grabber = self._connect()
            except SourceError as error:
                logger.info("%s (after a wait of %.1f s); trying again", error, wait)
                continue
            finally:
                self._inside_since = None
            self._reopened(self)
            logger.info("%s: opened again", self._camera)
            return grabber
        return None
