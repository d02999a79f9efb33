"""The live page over sockets: its snapshot, its status, its controls; nothing from elsewhere."""

from __future__ import annotations

import http.client
import json

import cv2
import numpy as np
import pytest
from fastcam_runtime.live.controls import Controls
from fastcam_runtime.sinks import Status
from fastcam_runtime.sinks.live_page.latest_frame import LatestFrame
from fastcam_runtime.sinks.live_page.page import LivePage
from fastcam_runtime.sinks.live_page.state import page_status
from support.paging import Loop
from support.waiting import until


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


@pytest.mark.slow
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


@pytest.mark.slow
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


def test_page_needs_nothing_from_elsewhere(loop: Loop) -> None:
    for path in ("/", "/page.css", "/page.js", "/class_box.js", "/classes.js"):
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
