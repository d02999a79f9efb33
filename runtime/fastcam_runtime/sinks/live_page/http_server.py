"""A small HTTP server: one thread and one request per connection, and a limit on connections."""

from __future__ import annotations

import logging
import os
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

from ...errors import SinkError
from .http_request import Refusal, Request, read_request

logger = logging.getLogger(__name__)

CONNECTIONS_LIMIT = 32
SEND_SECONDS = 10.0
_PIECE = 1 << 16
_DRAIN_SECONDS = 0.5
_DRAIN_BYTES = 65536
"""Limits on what is still read from a refused client, in total."""

Answer = Callable[[Request, socket.socket], None]
"""Answers a request on its connection; raises `Refusal` to send an error."""


def head(status: HTTPStatus, content_type: str, headers: Mapping[str, str] | None = None) -> bytes:
    """The status line and headers of a response, with those that every response has, and the blank line."""
    fields = {
        "Content-Type": content_type,
        "Cache-Control": "no-store",
        "Connection": "close",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        **(headers or {}),
    }
    lines = [
        f"HTTP/1.1 {status.value} {status.phrase}",
        *(f"{name}: {value}" for name, value in fields.items()),
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def send(
    connection: socket.socket,
    body: bytes,
    content_type: str,
    status: HTTPStatus = HTTPStatus.OK,
    headers: Mapping[str, str] | None = None,
) -> None:
    """Send a complete response."""
    connection.settimeout(SEND_SECONDS)
    length = {"Content-Length": str(len(body))}
    connection.sendall(head(status, content_type, {**length, **(headers or {})}) + body)


def send_file(connection: socket.socket, path: Path, content_type: str) -> None:
    """Send a file as a download, piece by piece."""
    with path.open("rb") as file:
        fields = {
            "Content-Length": str(os.fstat(file.fileno()).st_size),
            "Content-Disposition": f'attachment; filename="{path.name}"',
        }
        connection.settimeout(SEND_SECONDS)
        connection.sendall(head(HTTPStatus.OK, content_type, fields))
        while piece := file.read(_PIECE):
            connection.sendall(piece)


class BoundedServer(socketserver.ThreadingTCPServer):
    """Listens on one address and passes each request to `answer` in its own thread.

    Raises:
        SinkError: The address is in use, not permitted, or not of this machine.
    """

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = CONNECTIONS_LIMIT

    def __init__(self, host: str, port: int, answer: Answer) -> None:
        self._answer = answer
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        try:
            self.address_family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
            super().__init__((host, port), socketserver.BaseRequestHandler)
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or "not an address"
            raise SinkError(f"http://{host}:{port}: cannot listen there: {reason}") from error
        self._thread = threading.Thread(target=self.serve_forever, args=(0.1,), name="live page", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """The port that the server listens on; a free one if 0 was given."""
        return int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            full = len(self._open) >= CONNECTIONS_LIMIT
            if not full:
                self._open.add(request)
        if full:
            # One small packet into an empty buffer: this does not block, so the next client is not delayed.
            request.setblocking(False)
            try:
                send_refusal(request, Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "too many connections"))
            finally:
                self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def finish_request(self, request: Any, client_address: Any) -> None:
        connection: socket.socket = request
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            asked = read_request(connection)
            if asked is not None:
                self._answer(asked, connection)
        except Refusal as refusal:
            logger.debug("%s: %d %s", client_address[0], refusal.status, refusal.text)
            send_refusal(connection, refusal)
            _drain(connection)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        # Viewers disconnect all the time, and no client may cause a traceback on the terminal.
        logger.debug("%s: connection ended", client_address, exc_info=True)

    def stop(self) -> None:
        """Stop listening and close all connections, also those that wait for a slow client."""
        self.shutdown()
        self.server_close()
        with self._lock:
            connections = list(self._open)
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue


def send_refusal(connection: socket.socket, refusal: Refusal) -> None:
    """Send `refusal` as an error response."""
    body = f"{refusal.status.value} {refusal.status.phrase}: {refusal.text}\n".encode()
    fields = {"Content-Length": str(len(body)), **refusal.headers}
    connection.sendall(head(refusal.status, "text/plain; charset=utf-8", fields) + body)


def _drain(connection: socket.socket) -> None:
    """Read what the client still sends: closing with unread data would reset the connection."""
    connection.shutdown(socket.SHUT_WR)
    deadline = time.monotonic() + _DRAIN_SECONDS
    taken = 0
    while taken < _DRAIN_BYTES and (seconds := deadline - time.monotonic()) > 0:
        connection.settimeout(seconds)
        piece = connection.recv(4096)
        if not piece:
            return
        taken += len(piece)
