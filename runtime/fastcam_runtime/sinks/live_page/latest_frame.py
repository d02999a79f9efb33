"""The latest picture, shared by the loop and any number of viewers, each at its own pace."""

from __future__ import annotations

import threading
import time

import cv2

from ...image import Image
from ..base import Status

_QUALITY = [cv2.IMWRITE_JPEG_QUALITY, 85]


class LatestFrame:
    """The latest picture. Publishing never waits for viewers. The JPEG is encoded once, on first request."""

    def __init__(self) -> None:
        self._arrived = threading.Condition()
        self._encoding = threading.Lock()
        self._number = 0
        self._picture: Image | None = None
        self._status: Status | None = None
        self._published = 0.0
        self._encoded: tuple[int, bytes] = (0, b"")
        self._closed = False

    @property
    def status(self) -> Status | None:
        """The status of the latest picture; None before the first."""
        return self._status

    @property
    def age(self) -> float:
        """Seconds since the latest picture was published; 0 before the first."""
        return time.monotonic() - self._published if self._status is not None else 0.0

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the latest picture; zeros before the first."""
        picture = self._picture
        return (0, 0) if picture is None else (picture.shape[1], picture.shape[0])

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def publish(self, picture: Image, status: Status) -> None:
        """Replace the latest picture by a copy of this one."""
        copy = picture.copy()
        with self._arrived:
            self._picture, self._status = copy, status
            self._published = time.monotonic()
            self._number += 1
            self._arrived.notify_all()

    def jpeg(self, after: int, timeout: float) -> tuple[int, bytes] | None:
        """The latest picture's number and JPEG. Waits until the number is greater than `after`.

        None after `timeout` seconds, or once closed.
        """
        with self._arrived:
            self._arrived.wait_for(lambda: self._number > after or self._closed, timeout)
            number, picture = self._number, self._picture
            if self._closed or number <= after or picture is None:
                return None
        with self._encoding:
            if self._encoded[0] < number:
                self._encoded = (number, cv2.imencode(".jpg", picture, _QUALITY)[1].tobytes())
            return self._encoded

    def close(self) -> None:
        """End: wake all waiting viewers."""
        with self._arrived:
            self._closed = True
            self._arrived.notify_all()
