"""Cameras and streams: a thread reads all frames and keeps only the newest."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import ClassVar, TypeVar

from ..errors import SourceError, last_line
from ..image import Image
from .back_off import STEPS, BackOff
from .base import Frame, Source, SourceOptions
from .camera_reader import READER, CameraReader, Grabber
from .rate_limit import RateLimit

logger = logging.getLogger(__name__)

PATIENCE = 15.0
"""Seconds that a camera library may take for one call. OpenCV's own limits are below it: 5 seconds for a
network stream, 10 seconds for a webcam."""
_MOST_HANGING = 2
"""Most threads that may hang in a camera library; then no further one is started."""
_LOOK_SECONDS = 1.0
"""Between two looks at the thread while no frame comes."""
_JOIN_SECONDS = 1.0
"""For the thread to end: a camera that works returns after a frame. A recording is finished after it; both
together take less than the three seconds that a signal may take."""


def is_hanging() -> bool:
    """Whether a camera library still holds a thread of a source that was closed, or is being opened."""
    return any(thread.name.startswith(READER) for thread in threading.enumerate())


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

    thread = threading.Thread(target=guarded, name=READER + name, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.1)
    if failure:
        raise failure[0]
    return outcome[0]


class LiveSource(Source):
    """The newest frame of a camera or stream.

    A frame that cannot be decoded is skipped. A camera that is lost is opened again, and so is one whose
    library does not return: its thread is abandoned, and releases the camera if the library returns.

    Args:
        name: Its name in messages.
        connect: Opens the camera, now and after every loss; raises `SourceError` if that fails.
        options: Size, rate and flip. `connect` requests the rate from the camera; if the camera is faster all
            the same, as network cameras are, frames are dropped.
        steps: Seconds before the first retry, the second, and so on.
        patience: Seconds after which a call of the camera library counts as hanging.

    Raises:
        SourceError: The camera cannot be opened now.
    """

    live: ClassVar[bool] = True

    def __init__(
        self,
        name: str,
        connect: Callable[[], Grabber],
        options: SourceOptions,
        steps: Sequence[float] = STEPS,
        patience: float = PATIENCE,
    ) -> None:
        self.name = name
        self._connect = connect
        self._options = options
        self._back_off = BackOff(steps)
        self._patience = patience
        self._newest: Frame | None = None
        self._index = 0
        self._arrived = threading.Condition()
        self._closed = threading.Event()
        self._failure: Exception | None = None
        grabber = connect()
        self._rate_limit = RateLimit(options.fps)
        self.fps = min(filter(None, (grabber.fps, options.fps)), default=None)
        self._left_behind: list[CameraReader] = []
        self._reader = self._start_reader(grabber)

    def read(self) -> Frame | None:
        with self._arrived:
            while not self._arrived.wait_for(
                lambda: self._newest is not None or self._closed.is_set(), min(_LOOK_SECONDS, self._patience)
            ):
                self._replace_stuck_reader()
            frame, self._newest = self._newest, None
        if self._failure is not None:
            raise SourceError(f"{self.name}: cannot continue: {last_line(self._failure)}") from self._failure
        return None if self._closed.is_set() else frame

    def close(self) -> None:
        if self._closed.is_set():
            return
        self._closed.set()
        with self._arrived:
            reader = self._reader
            reader.end()
            self._arrived.notify_all()
        # A camera that hangs must not block the exit: the thread releases it when it can.
        reader.join(_JOIN_SECONDS)

    def _start_reader(self, grabber: Grabber | None) -> CameraReader:
        reader = CameraReader(
            self.name,
            self._connect,
            grabber,
            self._back_off,
            deliver=self._take,
            reopened=self._count_reconnect,
            done=self._end,
        )
        # Before it starts, so that its first image is not taken for one of a thread that was left behind.
        self._reader = reader
        reader.start()
        return reader

    def _replace_stuck_reader(self) -> None:
        """Abandon a thread that is stuck in the camera library, and open the camera in another one."""
        seconds = self._reader.stuck_seconds
        if seconds < self._patience or self._closed.is_set():
            return
        self._left_behind = [reader for reader in self._left_behind if reader.is_alive()]
        if len(self._left_behind) >= _MOST_HANGING:
            return
        logger.warning("%s: no answer for %.0f s; reopening it", self.name, seconds)
        self._reader.end()
        self._left_behind.append(self._reader)
        self._start_reader(None)

    def _take(self, reader: CameraReader, image: Image, undecodable: int) -> None:
        captured = time.monotonic()
        with self._arrived:
            if reader is not self._reader:
                return
            index = self._index
            self._index += 1
            self._skip(undecodable)
            wanted = self._rate_limit.accepts(captured)
        if not wanted:
            return
        frame = Frame(self._options.apply(image), index, captured)
        with self._arrived:
            if self._newest is not None:
                self.dropped += 1
            self._newest = frame
            self._arrived.notify_all()

    def _skip(self, frames: int) -> None:
        if not frames:
            return
        before = str(self.skipped or "")
        self.skipped += frames
        # The first one, the tenth, the hundredth: a bad cable must not fill the log.
        if len(str(self.skipped)) > len(before):
            logger.warning("%s: %d unreadable frame(s) skipped so far", self.name, self.skipped)

    def _count_reconnect(self, reader: CameraReader) -> None:
        with self._arrived:
            if reader is self._reader:
                self.reconnects += 1

    def _end(self, reader: CameraReader, failure: Exception | None) -> None:
        """The reader thread has ended, and with it the source."""
        with self._arrived:
            if reader is not self._reader:
                return
            self._failure = failure
            self._closed.set()
            self._arrived.notify_all()
