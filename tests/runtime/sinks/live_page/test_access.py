"""Who may use the live page: other sites, the token, the address that it listens on."""

from __future__ import annotations

import logging
import socket

import pytest
from fastcam_runtime.errors import SinkError
from fastcam_runtime.live.controls import Controls
from fastcam_runtime.sinks.live_page.page import LivePage
from support.paging import Loop, status_of


def test_other_sites_cannot_press_the_buttons(loop: Loop) -> None:
    body = '{"paused": true}'
    here = f"127.0.0.1:{loop.port}"
    assert loop.control(body, Origin="http://evil.example")[0] == 403
    assert loop.control(body, Origin=f"http://{here}.evil.example")[0] == 403
    assert loop.control(body, Origin="null")[0] == 403
    assert loop.control(body, Origin="http://[")[0] == 403
    assert loop.control(body, Sec_Fetch_Site="cross-site")[0] == 403
    # What a form of another site can send without the browser asking first.
    assert loop.control(body, Content_Type="text/plain")[0] == 415
    assert loop.control(body, Content_Type="application/x-www-form-urlencoded")[0] == 415
    assert loop.request("GET", "/control")[0].status == 405
    assert not loop.controls.paused
    assert loop.control(body, Origin=f"http://{here}", Sec_Fetch_Site="same-origin")[0] == 200
    assert loop.controls.paused


def test_name_of_another_site_that_resolves_to_this_machine(loop: Loop) -> None:
    for host in ("evil.example", "localhost.evil.example", f"{socket.gethostname()}.evil.example", "", "[::"):
        answer = loop.send(f"GET /snapshot.jpg HTTP/1.1\r\nHost: {host}:{loop.port}\r\n\r\n".encode())
        assert status_of(answer) == 403, host
    for host in ("localhost", "127.0.0.1", "192.168.1.7", "[::1]", socket.gethostname()):
        answer = loop.send(f"GET /status HTTP/1.1\r\nHost: {host}:{loop.port}\r\n\r\n".encode())
        assert status_of(answer) == 200, host


def test_token_is_asked_for_everywhere() -> None:
    loop = Loop(token="right-token")
    try:
        paths = (
            "/",
            "/page.js",
            "/page.css",
            "/stream.mjpg",
            "/snapshot.jpg",
            "/status",
            "/choices",
            "/nowhere",
        )
        for path in (*paths, "/recordings/20261118T025940-136Z.mp4"):
            assert loop.request("GET", path)[0].status == 401
            assert loop.request("GET", f"{path}?token=wrong-token")[0].status == 403
            assert (
                loop.request("GET", path, headers={"Cookie": f"fastcam_{loop.port}=wrong"})[0].status == 401
            )
        assert loop.control('{"paused": true}')[0] == 401
        assert not loop.controls.paused
        response, _ = loop.request("GET", "/?token=right-token")
        assert (response.status, response.headers["Location"]) == (303, "/")
        cookie = response.headers["Set-Cookie"]
        assert cookie.endswith("; Path=/; HttpOnly; SameSite=Strict")
        given = {"Cookie": "other=1; " + cookie.partition(";")[0]}
        assert loop.request("GET", "/", headers=given)[0].status == 200
        # Other services of the same machine, whose cookies a browser sends too.
        for others in ('prefs={"a":1}', "a[b]=1", "name=J\xfcrgen", "=", ";;", "x"):
            given = {"Cookie": f"{others}; " + cookie.partition(";")[0]}
            assert loop.request("GET", "/", headers=given)[0].status == 200, others
        assert loop.request("GET", "/status?token=right-token")[0].status == 200
    finally:
        loop.close()
    with pytest.raises(SinkError, match="the token must be"):
        Loop(token="")


def test_token_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASTCAM_TOKEN", "from-a-file")
    loop = Loop()
    try:
        assert loop.request("GET", "/status")[0].status == 401
        assert loop.request("GET", "/status?token=from-a-file")[0].status == 200
    finally:
        loop.close()


def test_listens_on_this_machine_unless_a_host_is_given(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        for uri, address, words in (
            ("http://:0", "127.0.0.1", "this machine only"),
            ("http://localhost:0/", "127.0.0.1", "this machine only"),
            ("http://0.0.0.0:0", "0.0.0.0", "open to everybody on the network"),
        ):
            caplog.clear()
            sink = LivePage(uri, Controls(("overlay",)))
            assert sink._server.socket.getsockname()[0] == address
            sink.close()
            assert words in caplog.text
            assert sink.url in caplog.text
        caplog.clear()
        LivePage("http://0.0.0.0:0", Controls(("overlay",)), token="hidden").close()
        assert "with this token" in caplog.text
        assert "hidden" not in caplog.text


@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("http://host", r"a live page is http://\[host\]:port"),
        ("http://:8000/path", "a live page is"),
        ("http://user:pw@:8000", "a live page is"),
        ("http://:99999", "out of range"),
        ("http://:port", "port"),
        ("http://203.0.113.7:8000", r"203\.0\.113\.7:8000: cannot listen there: "),
        ("http://no.such.host.invalid:8000", "cannot listen there: "),
    ],
)
def test_address_errors(uri: str, words: str) -> None:
    with pytest.raises(SinkError, match=words) as caught:
        LivePage(uri, Controls(("overlay",)))
    assert "\n" not in str(caught.value)


def test_port_in_use(loop: Loop) -> None:
    with pytest.raises(
        SinkError, match=f"127.0.0.1:{loop.port}: cannot listen there: Address already in use"
    ):
        LivePage(f"http://:{loop.port}", Controls(("overlay",)))
