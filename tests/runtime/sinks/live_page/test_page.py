"""The live page over sockets: viewers, the newest picture, the status, controls, the token, the address."""

from __future__ import annotations

import contextlib
import http.client
import json
import logging
import socket

import cv2
import numpy as np
import pytest
from fastcam_runtime.errors import SinkError
from fastcam_runtime.live.controls import Controls
from fastcam_runtime.sinks import Status
from fastcam_runtime.sinks.live_page import stream
from fastcam_runtime.sinks.live_page.latest_frame import LatestFrame
from fastcam_runtime.sinks.live_page.page import LivePage
from fastcam_runtime.sinks.live_page.state import page_status
from support.paging import Loop, Viewer, receive_all, status_of
from support.waiting import until


@pytest.mark.slow
def test_stalled_viewer_slows_neither_the_loop_nor_the_others(loop: Loop) -> None:
    stalled, good = Viewer(loop), Viewer(loop)
    assert stalled.status == good.status == 200
    # Far more pictures than any buffer on the way to the stalled viewer holds (each is over 100 kB).
    for _ in range(100):
        assert good.picture().shape == (480, 640, 3)
    written = loop.written
    until(lambda: loop.written > written + 20)
    loop.controls.set_view("side")
    until(lambda: good.picture()[0, 0].argmax() == 0)
    stalled.close()
    good.close()


def test_viewer_that_stays_away_is_let_go(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "SEND_SECONDS", 0.2)
    stalled = Viewer(loop)
    until(lambda: not loop.sink._server._open)  # type: ignore[attr-defined]
    stalled.close()


def test_pictures_are_encoded_only_while_somebody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[object] = []
    encode = cv2.imencode
    monkeypatch.setattr(cv2, "imencode", lambda *a: encoded.append(a[0]) or encode(*a))
    loop = Loop()
    try:
        until(lambda: loop.written > 20)
        assert not encoded
        start = loop.written  # before the first viewer: it is served while the last one connects
        viewers = [Viewer(loop) for _ in range(3)]
        for viewer in viewers * 5:
            viewer.picture()
        # At most once per picture, for any number of viewers.
        assert 0 < len(encoded) <= loop.written - start + 2
        for viewer in viewers:
            viewer.close()
    finally:
        loop.close()


def test_number_of_viewers_is_bounded_and_freed(loop: Loop) -> None:
    viewers = [Viewer(loop) for _ in range(stream.VIEWERS_LIMIT)]
    assert {viewer.status for viewer in viewers} == {200}
    answer = loop.send(b"GET /stream.mjpg HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert status_of(answer) == 503
    assert b"8 viewers are connected already" in answer
    assert loop.request("GET", "/status")[0].status == 200
    viewers.pop().close()

    def accepted() -> bool:
        viewers.append(Viewer(loop))
        return viewers[-1].status == 200

    until(accepted)
    for viewer in viewers:
        viewer.close()


def test_viewers_that_leave_before_the_first_picture_free_their_places(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stream, "_REPEAT_SECONDS", 0.1)
    sink = LivePage("http://:0", Controls(("overlay",)))
    address = ("127.0.0.1", int(sink.url.rstrip("/").rpartition(":")[2]))
    try:
        with socket.create_connection(address, timeout=20) as staying:
            for viewer in [staying, *(socket.create_connection(address) for _ in range(3))]:
                viewer.sendall(b"GET /stream.mjpg HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert status_of(viewer.recv(4096)) == 200
                if viewer is not staying:
                    viewer.close()
            until(lambda: len(sink._server._open) == 1)
            sink.write(np.zeros((4, 4, 3), np.uint8), Status(0))
            assert b"image/jpeg" in staying.recv(4096)
    finally:
        sink.close()


def test_a_picture_is_sent_once_however_long_it_is_held() -> None:
    sink = LivePage("http://127.0.0.1:0", Controls(("overlay",)))
    try:
        sink.write(np.zeros((4, 4, 3), np.uint8), Status(0))
        for _ in range(20):
            sink.refresh()
        assert sink._latest.jpeg(0, 0) is not None
        assert sink._latest.jpeg(1, 0) is None
    finally:
        sink.close()


def test_closing_ends_every_viewer_and_frees_the_port() -> None:
    loop = Loop()
    viewer = Viewer(loop)
    viewer.picture()
    with loop.connect() as idle:
        loop.close()
        receive_all(idle)
    with contextlib.suppress(ConnectionResetError):
        assert viewer.rest().count(b"--picture") < 100
    viewer.close()
    again = Loop(f"http://127.0.0.1:{loop.port}")
    again.close()


def test_snapshot_is_the_newest_picture(loop: Loop) -> None:
    loop.controls.set_view("map")
    written = loop.written
    until(lambda: json.loads(loop.request("GET", "/status")[1])["frame"] > written)
    response, content = loop.request("GET", "/snapshot.jpg")
    assert response.headers["Content-Type"] == "image/jpeg"
    image = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)
    assert image.shape == (480, 640, 3)
    assert image[0, 0].argmax() == 1


def test_status_is_strict_json_with_nothing_written_yet() -> None:
    sink = LivePage("http://:0", Controls(("overlay",)))
    try:
        port = int(sink.url.rstrip("/").rpartition(":")[2])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request("GET", "/status")
        status = json.loads(connection.getresponse().read())
        assert (status["frame"], status["views"], status["class"]) == (-1, ["overlay"], None)
        assert status["fps"] is None  # the page shows a dash, no 0.0
        sink.write(np.zeros((4, 4, 3), np.uint8), Status(0, score=float("nan"), fps=float("inf")))
        connection.request("GET", "/status")
        refuse_constant = {"parse_constant": lambda name: pytest.fail(f"{name} is not JSON")}
        status = json.loads(connection.getresponse().read(), **refuse_constant)
        assert (status["score"], status["fps"]) == (None, None)
    finally:
        sink.close()


@pytest.mark.parametrize(
    ("fps", "paused", "age", "silent"),
    [
        (30.0, False, 0.5, None),
        (30.0, False, 7.9, 7),
        (0.2, False, 7.9, None),  # a slow network
        (0.2, False, 15.9, 15),
        (30.0, True, 7.9, None),
        (None, False, 7.9, None),  # a photo
    ],
)
def test_status_tells_that_no_more_pictures_come(
    fps: float | None, paused: bool, age: float, silent: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    controls = Controls(("overlay",))
    sink = LivePage("http://:0", controls)
    try:
        controls.set_paused(paused)
        sink.write(np.zeros((4, 4, 3), np.uint8), Status(0, fps=fps))
        monkeypatch.setattr(LatestFrame, "age", age)
        state = page_status(controls, sink._latest, sink._metrics, None)
        assert (state["silent"], state["fps"]) == (silent, fps if silent is None else None)
    finally:
        sink.close()


# Access control.


def test_controls_over_http(loop: Loop) -> None:
    status, content = loop.control('{"view": "map", "class": "tabby", "paused": true}')
    assert status == 200
    assert json.loads(content)["view"] == "map"
    assert (loop.controls.view, loop.controls.class_choice, loop.controls.paused) == ("map", "tabby", True)
    assert loop.control('{"class": null}')[0] == 200
    assert loop.controls.class_choice is None
    assert loop.control('{"class": 281}')[0] == 200
    assert loop.controls.class_choice == "281"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('{"view": "cam"}', "no view 'cam'; one of overlay, map, side"),
        ('{"class": "dog"}', "no class 'dog'; closest: tabby"),
        ('{"view": "map", "class": "dog"}', "no class 'dog'; closest: tabby"),
        ('{"stop": true}', "no control 'stop'"),
        ('{"class": 282}', "no class '282'; closest: tabby"),
        ('{"class": true}', "class cannot be true"),
        ('{"alpha": 1.5}', "alpha is 1.5, not between 0 and 1"),
        ('{"alpha": true}', "alpha cannot be true"),
        ('{"colormap": "rainbow"}', "no colour map 'rainbow'; one of inferno"),
        ('{"view": "map", "recording": true, "colormap": "rainbow"}', "no colour map 'rainbow'"),
        ('{"paused": "yes"}', 'paused cannot be "yes"'),
        ('{"paused": 1}', "paused cannot be 1"),
        ('{"view": ["map"]}', "view cannot be"),
        ("[]", "must be an object"),
        ("{}", "must be an object"),
        ("", "not JSON"),
        ('{"view":', "not JSON"),
        ("\udcff".encode("utf-8", "surrogateescape").decode("latin-1"), "not JSON"),
        ("[" * 4000, "not JSON"),
    ],
)
def test_refused_controls_say_why(loop: Loop, body: str, words: str) -> None:
    status, content = loop.control(body)
    assert status == 400
    assert words in json.loads(content)["error"]
    assert (loop.controls.view, loop.controls.paused) == ("overlay", False)


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


def test_page_needs_nothing_from_elsewhere(loop: Loop) -> None:
    for path in ("/", "/page.css", "/page.js", "/class_box.js"):
        response, content = loop.request("GET", path)
        page = content.decode()
        assert "https://" not in page
        assert page.count("http://") == page.count("http://www.w3.org/2000/svg")
        assert "<script>" not in page
        assert "style=" not in page
        policy = response.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; ")
        assert "script-src 'self'; style-src 'self'; " in policy
        assert "unsafe" not in policy
        assert response.headers["Cross-Origin-Resource-Policy"] == "same-origin"


# The address.


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
