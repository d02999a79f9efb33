"""The live page's server, attacked over raw sockets."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys

import pytest
from fastcam_runtime.sinks.live_page import http_request
from support.paging import Loop, receive_all, status_of
from support.waiting import until


def test_unknown_pages_and_methods(loop: Loop) -> None:
    for path in ("/nowhere", "/../../etc/passwd", "/%2e%2e/etc/passwd", "/status/", "//status"):
        assert loop.request("GET", path)[0].status == 404
    for method in ("POST", "PUT", "DELETE", "HEAD", "OPTIONS", "TRACE"):
        response, _ = loop.request(method, "/status")
        assert (response.status, response.headers["Allow"]) == (405, "GET")


HOST = b"Host: localhost\r\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"\r\n\r\n", 400),
        (b"GET\r\n\r\n", 400),
        (b"GET / HTTP/2.0\r\n\r\n", 400),
        (b"GET / HTTP/1.1 x\r\n" + HOST + b"\r\n", 400),
        (b"GET http://localhost/ HTTP/1.1\r\n" + HOST + b"\r\n", 400),
        (b"GET /\x00 HTTP/1.1\r\n" + HOST + b"\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n" + HOST + b"X\xff: y\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n" + HOST + b"X: \x01\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n" + HOST + b" folded: x\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n" + HOST + b"no colon\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n" + HOST + HOST + b"\r\n", 400),
        (b"GET / HTTP/1.1\nHost: localhost\n\n\r\n\r\n", 400),
        (b"GET /?" + b"a=1&" * 40 + b" HTTP/1.1\r\n" + HOST + b"\r\n", 400),
        (b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", 414),
        (b"A" * 1_000_000, 414),
        (b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"a" * 100_000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\n" + HOST + b"X: y\r\n" * 100 + b"\r\n", 431),
        (b"POST /control HTTP/1.1\r\n" + HOST + b"Content-Length: 5000\r\n\r\n" + b"x" * 5000, 413),
        (b"POST /control HTTP/1.1\r\n" + HOST + b"Content-Length: 99999999999999\r\n\r\n", 413),
        (b"POST /control HTTP/1.1\r\n" + HOST + b"Content-Length: -1\r\n\r\n", 400),
        (b"POST /control HTTP/1.1\r\n" + HOST + b"Content-Length: 1_0\r\n\r\n", 400),
        (b"POST /control HTTP/1.1\r\n" + HOST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400),
        (
            b"POST /control HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
            411,
        ),
    ],
)
def test_hostile_request_is_refused(loop: Loop, data: bytes, status: int) -> None:
    answer = loop.send(data)
    assert status_of(answer) == status, answer
    assert loop.request("GET", "/status")[0].status == 200


@pytest.mark.slow
def test_slow_request_is_ended(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_request, "SECONDS_LIMIT", 0.3)
    with loop.connect() as silent:
        assert status_of(receive_all(silent)) == 408
    with loop.connect() as half:
        half.sendall(b"POST /control HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20\r\n\r\n{")
        assert status_of(receive_all(half)) == 408
    with loop.connect() as trickling:
        # The limit is for the whole request: a byte now and then does not extend it.
        answer = b""
        trickling.settimeout(0.02)
        for byte in b"GET / HTTP/1.1\r\n" + b"X" * 2000:
            with contextlib.suppress(TimeoutError, ConnectionError):
                trickling.send(bytes([byte]))
                answer += trickling.recv(4096)
            if answer:
                break
        assert status_of(answer) == 408


@pytest.mark.slow
def test_blanks_in_a_header_take_no_time() -> None:
    """In its own process: a regular expression that backtracks for hours would block every thread."""
    program = """
from fastcam_runtime.sinks.live_page.http_request import Refusal, parse_head
assert parse_head(b"GET / HTTP/1.1\\r\\nX:" + b" " * 7000 + b"a \\t b\\t ").headers == {"x": "a \\t b"}
try:
    parse_head(b"GET / HTTP/1.1\\r\\nX:" + b" " * 7000 + b"\\x01")
except Refusal as refusal:
    print(refusal)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("a malformed header\n", "")


def test_refused_client_that_goes_on_sending_is_ended(loop: Loop) -> None:
    with loop.connect() as trickling:
        trickling.sendall(b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert status_of(trickling.recv(4096)) == 404

        def ended() -> bool:
            with contextlib.suppress(ConnectionError):
                trickling.send(b"x")
            return not loop.sink._server._open  # type: ignore[attr-defined]

        until(ended)


def test_clients_that_go_away_print_nothing(loop: Loop, capfd: pytest.CaptureFixture[str]) -> None:
    for data in (b"", b"GET / HT", b"GET /stream.mjpg HTTP/1.1\r\nHost: localhost\r\n\r\n"):
        for _ in range(5):
            connection = loop.connect()
            connection.sendall(data)
            # An abortive close: data in flight is answered with a reset.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            connection.close()
    until(lambda: not loop.sink._server._open)  # type: ignore[attr-defined]
    assert loop.request("GET", "/")[0].status == 200
    assert capfd.readouterr() == ("", "")
