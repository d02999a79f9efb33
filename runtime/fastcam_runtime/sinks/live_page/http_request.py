"""Reading one HTTP request, with limits on the memory and time that a client can use."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from urllib.parse import parse_qsl, unquote, urlsplit

HEAD_LIMIT = 8192
BODY_LIMIT = 4096
HEADERS_LIMIT = 64
SECONDS_LIMIT = 5.0
"""Bytes of the request line and headers, bytes of the body, number of headers, seconds for the request."""

_REQUEST_LINE = re.compile(r"([A-Z]{1,16}) (/[!-~]*) HTTP/1\.[01]")
# Blanks around the value are stripped afterwards: matching them here would backtrack on a long run of them.
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
    """A request; header names are in lower case."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    address: str = ""
    """Where the client is."""


def read_request(connection: socket.socket, address: str = "") -> Request | None:
    """Read one request of the client at `address`; None if it disconnected before the request was complete.

    Raises:
        Refusal: It is malformed, too large or too slow.
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
    return replace(request, body=body[:length], address=address)


def _split(received: bytes) -> tuple[bytes, bytes]:
    """The part before the blank line and the rest from it on; the rest is empty until the line arrives."""
    end = received.find(b"\r\n\r\n")
    if end > HEAD_LIMIT or (end < 0 and len(received) > HEAD_LIMIT):
        if b"\r\n" in received[:HEAD_LIMIT]:
            raise Refusal(
                HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"more than {HEAD_LIMIT} bytes of headers"
            )
        raise Refusal(HTTPStatus.REQUEST_URI_TOO_LONG, f"an address of more than {HEAD_LIMIT} bytes")
    return (received, b"") if end < 0 else (received[:end], received[end:])


def _receive(connection: socket.socket, deadline: float) -> bytes:
    """The next bytes from the client; empty if it disconnected."""
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
    """Parse the request line and headers, without the blank line after them.

    Raises:
        Refusal: It is not well-formed HTTP/1.
    """
    lines = head.decode("latin-1").split("\r\n")  # any byte is allowed: other services set cookies
    line = _REQUEST_LINE.fullmatch(lines[0])
    if line is None:
        raise Refusal(HTTPStatus.BAD_REQUEST, "not a request of HTTP/1.0 or HTTP/1.1")
    if len(lines) - 1 > HEADERS_LIMIT:
        raise Refusal(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"more than {HEADERS_LIMIT} headers")
    headers: dict[str, str] = {}
    for text in lines[1:]:
        header = _HEADER.fullmatch(text)
        name = header[1].lower() if header else ""
        # A repeated length or host allows request smuggling past a proxy.
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
