"""The page against clients that hold connections, guess tokens or listen in."""

from __future__ import annotations

import http.client
import logging
import shutil
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastcam_runtime.errors import FastcamError
from fastcam_runtime.network.certificate import Certificate, self_signed
from fastcam_runtime.sinks.live_page import http_server
from fastcam_runtime.sinks.live_page.guesses import FREE_GUESSES, LONGEST_BLOCK, Guesses
from support.chromium import Chromium, find_chromium
from support.paging import Loop, Viewer, receive_all, status_of
from support.waiting import until

ELSEWHERE = "127.0.0.2"
TOKEN = "0123456789abcdef0123456789abcdef"


@pytest.mark.slow
def test_a_hundred_slow_clients_keep_nobody_out(loop: Loop) -> None:
    """The attackers may even share the address of the legitimate viewer."""
    viewer = Viewer(loop)
    slow = [loop.connect() for _ in range(100)]
    for connection in slow:
        connection.send(b"GET / HTTP/1.1\r\n")
    for address in ("127.0.0.1", ELSEWHERE):
        for _ in range(5):
            assert loop.request("GET", "/status", address=address)[0].status == 200
    assert viewer.picture().shape == (480, 640, 3)  # connected viewers stay
    assert len(loop.sink._server._open) <= http_server.ADDRESS_LIMIT + 1  # type: ignore[attr-defined]
    viewer.close()
    for connection in slow:
        connection.close()


@pytest.mark.slow
def test_slow_clients_of_many_addresses_keep_nobody_out(loop: Loop) -> None:
    slow = [loop.connect(f"127.0.1.{number}") for number in range(1, 101)]
    for _ in range(5):
        assert loop.request("GET", "/status")[0].status == 200
    assert len(loop.sink._server._open) <= http_server.CONNECTIONS_LIMIT  # type: ignore[attr-defined]
    for connection in slow:
        connection.close()


@pytest.mark.slow
def test_refused_clients_that_stay_keep_nobody_out(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refused client is read from for a while, so that it gets its answer; it must not hold a place."""
    monkeypatch.setattr(http_server, "_DRAIN_SECONDS", 30.0)
    refused = [loop.connect(f"127.0.1.{number}") for number in range(1, http_server.CONNECTIONS_LIMIT + 1)]
    for connection in refused:
        connection.send(b"GET /nothere HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert status_of(connection.recv(4096)) == 404
    assert loop.request("GET", "/status")[0].status == 200
    for connection in refused:
        connection.close()


def test_connections_that_are_served_are_bounded_by_address(
    loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "ADDRESS_LIMIT", 3)
    viewers = [Viewer(loop) for _ in range(3)]
    with loop.connect() as one_more:
        assert status_of(receive_all(one_more)) == 503
    assert loop.request("GET", "/status", address=ELSEWHERE)[0].status == 200
    viewers.pop().close()
    until(lambda: loop.request("GET", "/status")[0].status == 200)
    for viewer in viewers:
        viewer.close()


def test_guesses_are_slowed_by_address() -> None:
    loop = Loop(token=TOKEN)
    now = [0.0]
    loop.sink._access._guesses._clock = lambda: now[0]  # type: ignore[attr-defined]
    try:
        for number in range(FREE_GUESSES + 1):
            assert loop.request("GET", f"/?token=guess-{number}")[0].status == 403
        response, body = loop.request("GET", f"/status?token={TOKEN}")
        assert (response.status, int(response.headers["Retry-After"])) == (429, 1)
        assert b"too many wrong tokens from your address; try again in 1 s" in body
        assert loop.request("GET", "/status")[0].status == 401  # no guess
        assert loop.request("GET", f"/status?token={TOKEN}", address=ELSEWHERE)[0].status == 200
        now[0] = 1.1
        assert loop.request("GET", f"/status?token={TOKEN}")[0].status == 200
    finally:
        loop.close()


def test_an_old_cookie_is_one_guess_however_often_it_is_sent() -> None:
    loop = Loop(token=TOKEN)
    try:
        old = {"Cookie": f"fastcam_{loop.port}=the-token-of-yesterday"}
        for _ in range(3 * FREE_GUESSES):
            assert loop.request("GET", "/status", headers=old)[0].status == 401
        assert loop.request("GET", f"/status?token={TOKEN}", headers=old)[0].status == 200
    finally:
        loop.close()


def test_blocks_grow_and_are_forgotten() -> None:
    now = [0.0]
    guesses = Guesses(clock=lambda: now[0])
    blocks = []
    for number in range(FREE_GUESSES + 9):
        guesses.add("192.0.2.7", f"guess {number}")
        blocks.append(guesses.seconds_blocked("192.0.2.7"))
        now[0] += blocks[-1]
    assert blocks == [0] * FREE_GUESSES + [1, 2, 4, 8, 16, 32, LONGEST_BLOCK, LONGEST_BLOCK, LONGEST_BLOCK]
    assert guesses.seconds_blocked("192.0.2.8") == 0
    now[0] += 901
    guesses.add("192.0.2.7", "one more")
    assert guesses.seconds_blocked("192.0.2.7") == 0


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8::1", "2001:db8::ffff:2", True),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
        ("::ffff:192.0.2.7", "192.0.2.7", True),
        ("fe80::1%eth0", "fe80::2%eth0", True),
        ("192.0.2.7", "192.0.2.8", False),
    ],
)
def test_what_counts_as_one_address(one: str, other: str, same: bool) -> None:
    guesses = Guesses()
    for number in range(FREE_GUESSES + 5):
        guesses.add(one, str(number))
    assert (guesses.seconds_blocked(other) > 0) == same


def test_the_memory_of_guesses_is_bounded() -> None:
    guesses = Guesses()
    for number in range(3000):
        guesses.add(f"10.0.{number // 250}.{number % 250}", str(number))
        guesses.add("192.0.2.7", str(number))
    assert len(guesses._guessers) == 1024
    assert len(guesses._guessers["192.0.2.7"].wrong) == 64
    assert guesses.seconds_blocked("192.0.2.7") > 0


@pytest.mark.parametrize(("token", "warned"), [("short", True), ("x" * 15, True), ("x" * 16, False)])
def test_a_short_token_is_warned_about(caplog: pytest.LogCaptureFixture, token: str, warned: bool) -> None:
    with caplog.at_level(logging.WARNING):
        Loop(token=token).close()
    assert (f"the token has {len(token)} characters, which can be guessed" in caplog.text) == warned
    assert token not in caplog.text


@pytest.fixture
def certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Certificate:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate with")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return self_signed(("127.0.0.1",))


@pytest.fixture
def secure(certificate: Certificate) -> Iterator[Loop]:
    loop = Loop(token=TOKEN, certificate=certificate)
    yield loop
    loop.close()


def test_page_by_https(secure: Loop, certificate: Certificate) -> None:
    assert secure.url == f"https://127.0.0.1:{secure.port}/"
    trusting = ssl.create_default_context(cafile=str(certificate.certificate))
    client = http.client.HTTPSConnection("127.0.0.1", secure.port, timeout=20, context=trusting)
    client.request("GET", f"/?token={TOKEN}")
    response = client.getresponse()
    assert response.status == 303
    cookie = response.headers["Set-Cookie"]
    assert cookie.endswith("; HttpOnly; SameSite=Strict; Secure")
    response.read()
    client.request("GET", "/stream.mjpg", headers={"Cookie": cookie.partition(";")[0]})
    response = client.getresponse()
    assert response.status == 200
    assert response.read(200_000).count(b"--picture\r\n") >= 2
    client.close()
    with pytest.raises(ssl.SSLCertVerificationError):
        socket_of(secure, ssl.create_default_context())


@pytest.mark.browser
def test_a_browser_gives_a_secure_context_by_https_only(
    tmp_path: Path, certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a phone, under a name that is not localhost; who trusts the certificate sees the picture."""
    if find_chromium() is None:
        pytest.skip("no Chromium to open the page in")
    flags = ("--host-resolver-rules=MAP device.test 127.0.0.1", "--ignore-certificate-errors")
    browser = Chromium(tmp_path / "profile", *flags)
    try:
        for scheme, chosen in (("http", None), ("https", certificate)):
            loop = Loop(token=TOKEN, certificate=chosen)
            try:
                tab = browser.open(f"{scheme}://device.test:{loop.port}/?token={TOKEN}")
                tab.wait("[...document.images].some((image) => image.naturalWidth === 640)")
                assert tab.evaluate("[location.protocol, isSecureContext]") == [
                    f"{scheme}:",
                    scheme == "https",
                ]
            finally:
                loop.close()
    finally:
        browser.close()


def socket_of(loop: Loop, context: ssl.SSLContext) -> ssl.SSLSocket:
    return context.wrap_socket(loop.connect(), server_hostname="127.0.0.1")


def test_plain_http_to_an_https_page_is_told(secure: Loop) -> None:
    answer = secure.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert status_of(answer) == 400
    assert b"this page is served by https: open https://" in answer


@pytest.mark.slow
def test_slow_handshakes_keep_nobody_out(secure: Loop, certificate: Certificate) -> None:
    idle = [secure.connect() for _ in range(50)]
    begun = [secure.connect() for _ in range(50)]
    for connection in begun:
        connection.send(b"\x16\x03\x01\x02\x00\x01")  # the beginning of a handshake
    trusting = ssl.create_default_context(cafile=str(certificate.certificate))
    for _ in range(3):
        with socket_of(secure, trusting) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert status_of(receive_all(connection)) in (200, 503)  # no loop counts frames here
    for slow in (*idle, *begun):
        slow.close()


def test_closing_ends_viewers_by_https(certificate: Certificate) -> None:
    loop = Loop(certificate=certificate)
    context = ssl.create_default_context(cafile=str(certificate.certificate))
    with socket_of(loop, context) as viewer:
        viewer.sendall(b"GET /stream.mjpg HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert viewer.recv(10)
        loop.close()
        try:
            while viewer.recv(65536):
                pass
        except (ssl.SSLError, ConnectionResetError):
            pass


def test_a_certificate_that_is_none(tmp_path: Path, certificate: Certificate) -> None:
    text = tmp_path / "text.pem"
    text.write_text("nothing")
    for wrong in (
        Certificate(text, certificate.key),
        Certificate(certificate.certificate, text),
        Certificate(tmp_path / "missing", certificate.key),
    ):
        with pytest.raises(FastcamError, match="not a certificate in PEM form and its key"):
            Loop(certificate=wrong)
