"""The live picture as an endless response (MJPEG), each viewer at its own pace."""

from __future__ import annotations

import socket
import ssl
import threading
from http import HTTPStatus

from .http_request import Refusal
from .http_server import SEND_SECONDS, head
from .latest_frame import LatestFrame

VIEWERS_LIMIT = 8
_BOUNDARY = "picture"
_BUFFER = 131072
"""Send buffer in bytes. It is small, so that a slow viewer gets the latest picture and not a backlog."""
_REPEAT_SECONDS = 5.0


class PictureStream:
    """Sends the pictures of `latest` to a limited number of viewers, until it is closed."""

    def __init__(self, latest: LatestFrame) -> None:
        self._latest = latest
        self._viewers = threading.BoundedSemaphore(VIEWERS_LIMIT)

    def send(self, connection: socket.socket) -> None:
        """Send pictures until the viewer leaves.

        Raises:
            Refusal: There are too many viewers.
        """
        if not self._viewers.acquire(blocking=False):
            raise Refusal(HTTPStatus.SERVICE_UNAVAILABLE, f"{VIEWERS_LIMIT} viewers are connected already")
        try:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
            connection.settimeout(SEND_SECONDS)
            kind = f"multipart/x-mixed-replace; boundary={_BOUNDARY}"
            connection.sendall(head(HTTPStatus.OK, kind) + f"--{_BOUNDARY}\r\n".encode())
            shown = 0
            while not self._latest.closed:
                # Without a new picture, send the last one again: that detects a viewer that has disconnected.
                latest = self._latest.jpeg(shown, _REPEAT_SECONDS) or self._latest.jpeg(shown - 1, 0)
                if latest is not None:
                    shown, jpeg = latest
                    connection.sendall(_part(jpeg))
                elif _is_gone(connection):
                    return
        finally:
            self._viewers.release()


def _is_gone(connection: socket.socket) -> bool:
    """Whether the client has disconnected; other data from it is discarded."""
    connection.setblocking(False)
    try:
        return not connection.recv(4096)
    except (BlockingIOError, ssl.SSLWantReadError):
        return False
    finally:
        connection.settimeout(SEND_SECONDS)


def _part(jpeg: bytes) -> bytes:
    # The boundary follows its picture at once: a browser shows a part only when it has seen the end of it.
    fields = f"Content-Type: image/jpeg\r\nContent-Length: {len(jpeg)}\r\n\r\n"
    return fields.encode() + jpeg + f"\r\n--{_BOUNDARY}\r\n".encode()
