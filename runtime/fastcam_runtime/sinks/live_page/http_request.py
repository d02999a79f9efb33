"""One HTTP request, read within bounds: no client can take more memory or time than said here."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import parse_qsl, unquote, urlsplit

HEAD_LIMIT = 8192
BODY_LIMIT = 4096
HEADERS_LIMIT = 64
SECONDS_LIMIT = 5.0
"""Bytes up to the blank line, bytes after it, number of headers, and seconds for all of it."""

_REQUEST_LINE = re.compile(r"([A-Z]{1,16}) (/[!-~]*) HTTP/1\.[01]")
# One way to match only: blanks around the value are stripped afterwards, or a long run of them would be tried
# in every division.
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):([ -~\t\x80-\xff]*)")


class Refusal(Exception):
    """A request that is answered with an error status and one line of text."""

    def __init__(self, status: HTTPStatus, text: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.headers = dict(headers or {})


@dataclass(frozen=True)
class Request:
    """A request as it came; header names are in lower case."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


def read_request(connection: socket.socket) -> Request | None:
    """Read one request; None if the client went away without sending a whole one.

    Raises:
        Refusal: it is malformed, too large or too slow.
    """
    deadline = time.monotonic() + SECONDS_LIMIT
    head, rest = b"", b""
    while not rest:
        piece = _receive(connection, deadline)
        if not piece:
            return None
        head += piece
        head, rest = _split(head)
    request = parse_head(head)
    length = _body_length(request.headers)
    body = rest.removeprefix(b"\r\n\r\n")
    while len(body) < length:
        piece = _receive(connection, deadline)
        if not piece:
            return None
        body += piece
    return Request(request.method, request.path, request.query, request.headers, body[:length])


def _split(received: bytes) -> tuple[bytes, bytes]:
    """What is before the blank line, and what begins with it (nothing while it has not come)."""
    end = received.find(b"\r\n\r\n")
    if end > HEAD_LIMIT or (end < 0 and len(received) > HEAD_LIMIT):
        if b"\r\n" in received[:HEAD_LIMIT]:
            raise Refusal(
                HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"more than {HEAD_LIMIT} bytes of headers"
            )
        raise Refusal(HTTPStatus.REQUEST_URI_TOO_LONG, f"an address of more than {HEAD_LIMIT} bytes")
    return (received, b"") if end < 0 else (received[:end], received[end:])


def _receive(connection: socket.socket, deadline: float) -> bytes:
    """What the client sent meanwhile; nothing if it went away."""
    seconds = deadline - time.monotonic()
    try:
        if seconds <= 0:
            raise TimeoutError
        connection.settimeout(seconds)
        return connection.recv(4096)
    except TimeoutError:
        raise Refusal(HTTPStatus.REQUEST_TIMEOUT, f"not sent within {SECONDS_LIMIT:g} seconds") from None
    except OSError:
        return b""


def parse_head(head: bytes) -> Request:
    """The request line and headers, without the blank line after them.

    Raises:
        Refusal: it is not well-formed HTTP/1.
    """
    lines = head.decode("latin-1").split("\r\n")  # a value may be anything: other services set cookies too
    line = _REQUEST_LINE.fullmatch(lines[0])
    if line is None:
        raise Refusal(HTTPStatus.BAD_REQUEST, "not a request of HTTP/1.0 or HTTP/1.1")
    if len(lines) - 1 > HEADERS_LIMIT:
        raise Refusal(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"more than {HEADERS_LIMIT} headers")
    headers: dict[str, str] = {}
    for text in lines[1:]:
        header = _HEADER.fullmatch(text)
        name = header[1].lower() if header else ""
        # Two lengths or hosts are how requests are smuggled past a proxy.
        if header is None or (name in headers and name in ("content-length", "host")):
            raise Refusal(HTTPStatus.BAD_REQUEST, "a malformed header")
        headers[name] = header[2].strip(" \t")
    try:
        target = urlsplit(line[2])
        query = dict(parse_qsl(target.query, max_num_fields=16))
    except ValueError:
        raise Refusal(HTTPStatus.BAD_REQUEST, "a malformed address") from None
    return Request(line[1], unquote(target.path), query, headers)


def _body_length(headers: Mapping[str, str]) -> int:
    if "transfer-encoding" in headers:
        raise Refusal(HTTPStatus.LENGTH_REQUIRED, "the body needs a Content-Length")
    text = headers.get("content-length", "0")
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise Refusal(HTTPStatus.BAD_REQUEST, "a malformed Content-Length")
    if int(text) > BODY_LIMIT:
        raise Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body of more than {BODY_LIMIT} bytes")
    return int(text)
