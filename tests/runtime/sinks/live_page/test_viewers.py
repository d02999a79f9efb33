"""Viewers of the live page: each gets the newest picture, none slows the loop or the others."""

from __future__ import annotations

import contextlib
import socket

import cv2
import numpy as np
import pytest
from fastcam_runtime.live.controls import Controls
from fastcam_runtime.sinks import Status
from fastcam_runtime.sinks.live_page import stream
from fastcam_runtime.sinks.live_page.page import LivePage
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
