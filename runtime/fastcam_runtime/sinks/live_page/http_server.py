"""A small HTTP server: one thread per connection, a bounded number of them, one request each."""

from __future__ import annotations

import logging
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from ...errors import SinkError
from .http_request import Refusal, Request, read_request

logger = logging.getLogger(__name__)

CONNECTIONS_LIMIT = 32
SEND_SECONDS = 10.0
_DRAIN_SECONDS = 0.5
_DRAIN_BYTES = 65536
"""Limits of what is still taken from a refused client, all of it together."""

Answer = Callable[[Request, socket.socket], None]
"""Answers a request on its connection; raises `Refusal` to have an error sent."""


def head(status: HTTPStatus, content_type: str, headers: Mapping[str, str] | None = None) -> bytes:
    """The head of a response, blank line included, with the headers that every response carries."""
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
    """Send one whole response."""
    connection.settimeout(SEND_SECONDS)
    length = {"Content-Length": str(len(body))}
    connection.sendall(head(status, content_type, {**length, **(headers or {})}) + body)


class BoundedServer(socketserver.ThreadingTCPServer):
    """Listens on one address and gives every request to `answer`, in a thread of its own.

    Raises:
        SinkError: the address is taken, not allowed or not this machine's.
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
        """The port listened on, also where 0 was asked for."""
        return int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            full = len(self._open) >= CONNECTIONS_LIMIT
            if not full:
                self._open.add(request)
        if full:
            # One small packet into an empty buffer: it does not wait, and neither does the next client.
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
        # A viewer that went away is no news, and nothing a client does may print a traceback.
        logger.debug("%s: connection ended", client_address, exc_info=True)

    def stop(self) -> None:
        """Stop listening and end every connection, also those that wait for a slow client."""
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
    """Send the error that `refusal` is."""
    body = f"{refusal.status.value} {refusal.status.phrase}: {refusal.text}\n".encode()
    fields = {"Content-Length": str(len(body)), **refusal.headers}
    connection.sendall(head(refusal.status, "text/plain; charset=utf-8", fields) + body)


def _drain(connection: socket.socket) -> None:
    """Take what the client still sends: closing on unread data would take the answer from it."""
    connection.shutdown(socket.SHUT_WR)
    deadline = time.monotonic() + _DRAIN_SECONDS
    taken = 0
    while taken < _DRAIN_BYTES and (seconds := deadline - time.monotonic()) > 0:
        connection.settimeout(seconds)
        piece = connection.recv(4096)
        if not piece:
            return
        taken += len(piece)
