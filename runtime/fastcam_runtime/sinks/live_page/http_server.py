"""A small HTTP server: one thread and one request per connection, and limits on connections."""

from __future__ import annotations

import functools
import logging
import os
import socket
import socketserver
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

from ...errors import SinkError
from .http_request import SECONDS_LIMIT, Refusal, Request, read_request

logger = logging.getLogger(__name__)

CONNECTIONS_LIMIT = 32
ADDRESS_LIMIT = 16
"""Connections at the same time, in all and of one address. Beyond them the oldest one that has not sent its
request yet, or was refused, makes room; if there is none, the new one is refused."""
SEND_SECONDS = 10.0
_TLS_HANDSHAKE = b"\x16"
"""The first byte that a client of https sends."""
_PIECE = 1 << 16
_DRAIN_SECONDS = 0.5
_DRAIN_BYTES = 65536
"""Limits on the data that is still read from a refused client, in total."""

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


@dataclass
class _Visit:
    """A connection that is open."""

    connection: socket.socket
    address: str
    waiting: bool = True
    """Its request is not complete yet, or it was refused."""


class BoundedServer(socketserver.ThreadingTCPServer):
    """Listens on one address and passes each request to `answer` in its own thread.

    Port 0 takes any free one; `context` is for https.

    Raises:
        SinkError: The address is in use, not permitted, or not of this machine.
    """

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = CONNECTIONS_LIMIT

    def __init__(self, host: str, port: int, answer: Answer, context: ssl.SSLContext | None = None) -> None:
        self._answer = answer
        self._context = context
        self._open: dict[int, _Visit] = {}
        """By the connection's `id`, the oldest first."""
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
        visit = _Visit(request, client_address[0])
        with self._lock:
            full = not self._make_room(visit.address)
            if not full:
                self._open[id(request)] = visit
        if full:
            # One small packet into an empty buffer: this does not block, so the next client is not delayed.
            request.setblocking(False)
            try:
                send_refusal(request, Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "too many connections"))
            finally:
                self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def _make_room(self, address: str) -> bool:
        """Whether one more connection of this address may come; called with the lock."""
        mine = [visit for visit in self._open.values() if visit.address == address]
        if len(mine) >= ADDRESS_LIMIT:
            candidates = mine
        elif len(self._open) >= CONNECTIONS_LIMIT:
            candidates = list(self._open.values())
        else:
            return True
        slowest = next((visit for visit in candidates if visit.waiting), None)
        if slowest is None:
            return False
        # Its thread wakes up and ends; it no longer counts.
        self._open = {key: visit for key, visit in self._open.items() if visit is not slowest}
        _cut(slowest.connection)
        return True

    def finish_request(self, request: Any, client_address: Any) -> None:
        request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._context is None:
            self._serve(request, id(request), client_address)
            return
        request.settimeout(SECONDS_LIMIT)
        if request.recv(1, socket.MSG_PEEK) not in (b"", _TLS_HANDSHAKE):
            refusal = Refusal(HTTPStatus.BAD_REQUEST, "this page is served by https: open https://…")
            send_refusal(request, refusal)
            _drain(request)
            return
        wrap = functools.partial(self._context.wrap_socket, do_handshake_on_connect=False)
        with wrap(request, server_side=True) as connection:
            with self._lock:
                if id(request) not in self._open:  # it had to make room
                    return
                self._open[id(request)].connection = connection
            connection.do_handshake()
            self._serve(connection, id(request), client_address)

    def _serve(self, connection: socket.socket, key: int, client_address: Any) -> None:
        """Read the request and answer it."""
        try:
            asked = read_request(connection, client_address[0])
            self._set_waiting(key, False)
            if asked is not None:
                self._answer(asked, connection)
        except Refusal as refusal:
            self._set_waiting(key, True)
            logger.debug("%s: %d %s", client_address[0], refusal.status, refusal.text)
            send_refusal(connection, refusal)
            _drain(connection)

    def _set_waiting(self, key: int, waiting: bool) -> None:
        with self._lock:
            if key in self._open:
                self._open[key].waiting = waiting

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.pop(id(request), None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        # Viewers disconnect all the time, and no client may cause a traceback on the terminal.
        logger.debug("%s: connection ended", client_address, exc_info=True)

    def stop(self) -> None:
        """Stop listening and close all connections, also those that wait for a slow client."""
        self.shutdown()
        self.server_close()
        with self._lock:
            connections = [visit.connection for visit in self._open.values()]
        for connection in connections:
            _cut(connection)


def _cut(connection: socket.socket) -> None:
    """End a connection that another thread may wait for."""
    with suppress(OSError):
        # Not the method of a TLS connection, which that thread uses.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)


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
