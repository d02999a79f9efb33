"""A real stream over HTTP, cut and restarted, and videos on a server."""

from __future__ import annotations

import http.server
import itertools
import json
import logging
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from fastcam_runtime.cli.main import main
from fastcam_runtime.errors import SourceError
from fastcam_runtime.sources import capture, open_source
from support.tiny_grafts import save_graft
from support.videos import frames_of
from support.waiting import until


class Broadcast:
    """A real MJPEG server on loopback that can be cut, in the middle of a picture, and started again."""

    def __init__(self) -> None:
        self.gray = 0
        self.size = (48, 64)
        self.step = 0
        """How much darker the left half is."""
        self.bad: bytes | None = None
        """The content of every fourth part, if it is not a picture."""
        self.stalled = threading.Event()
        self.port = 0
        self._cut = threading.Event()

    def start(self, gray: int) -> None:
        self.gray = gray
        self._cut.clear()
        broadcast = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "multipart/x-mixed-replace; boundary=b")
                self.end_headers()
                broadcast.send_pictures(self.wfile.write)

            def log_message(self, *_: object) -> None:
                pass

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True

        self._server = Server(("127.0.0.1", self.port), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def send_pictures(self, send: Callable[[bytes], object]) -> None:
        try:
            for number in itertools.count():
                if self._cut.wait(0.01):
                    break
                picture = np.full((*self.size, 3), self.gray, np.uint8)
                picture[:, : self.size[1] // 2] -= self.step
                part = as_part(cv2.imencode(".jpg", picture)[1].tobytes())
                if self.bad is not None and number % 4 == 3:
                    send(as_part(self.bad))
                elif not self.stalled.is_set():
                    send(part)
            send(part[: len(part) // 2])
        except OSError:
            return

    def cut(self) -> None:
        self._cut.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self.port}/stream.mjpg"


def as_part(content: bytes) -> bytes:
    """A part of a multipart response."""
    return b"--b\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n" % len(content) + content + b"\r\n"


@pytest.fixture
def broadcast() -> Iterator[Broadcast]:
    server = Broadcast()
    server.start(gray=50)
    yield server
    server.cut()


def read_until(source: Any, gray: int) -> int:
    """Read on until a picture of this brightness comes; returns its index. Fails after 30 seconds."""
    give_up = time.monotonic() + 30
    for frame in iter(source.read, None):
        if abs(float(frame.image.mean()) - gray) < 3:
            return int(frame.index)
        assert time.monotonic() < give_up, f"no picture of brightness {gray}, but {frame.image.mean()}"
    raise AssertionError("the source ended")


@pytest.mark.slow
def test_stream_is_cut_and_found_again(broadcast: Broadcast, capfd: pytest.CaptureFixture[str]) -> None:
    with open_source(broadcast.uri, size=(32, 24)) as source:
        assert source.live
        before = read_until(source, 50)
        broadcast.cut()
        broadcast.start(gray=200)
        after = read_until(source, 200)
        assert after > before
        assert source.reconnects == 1
        assert source.read().image.shape == (24, 32, 3)  # type: ignore[union-attr]
    assert source.read() is None
    assert capfd.readouterr().err == ""


JPEG = cv2.imencode(".jpg", np.zeros((48, 64, 3), np.uint8))[1].tobytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    "bad",
    [b"", JPEG[:3], JPEG[: len(JPEG) // 2], bytes(range(256)) * 3, b"<html>busy</html>"],
    ids=["empty", "three bytes", "half", "noise", "text"],
)
def test_a_bad_picture_costs_itself_only(
    broadcast: Broadcast, bad: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    broadcast.bad = bad
    with open_source(broadcast.uri) as source:
        for _ in range(30):
            frame = source.read()
            assert frame is not None
            assert abs(float(frame.image.mean()) - 50) < 3
    assert source.reconnects == 0
    # At least 30 good frames, one bad one after each three.
    assert frame.index // 3 - 2 <= source.skipped <= frame.index // 3 + 2
    assert "1 unreadable frame(s) skipped so far" in caplog.text
    assert "lost" not in caplog.text


def test_a_damaged_picture_prints_nothing(broadcast: Broadcast, capfd: pytest.CaptureFixture[str]) -> None:
    """libjpeg prints a line about bytes before the end marker, though it decodes the picture."""
    gray = cv2.imencode(".jpg", np.full((48, 64, 3), 50, np.uint8))[1].tobytes()
    broadcast.bad = gray[:-2] + bytes(20) + gray[-2:]
    with open_source(broadcast.uri) as source:
        for _ in range(12):
            assert source.read() is not None
    assert source.skipped == 0
    assert capfd.readouterr().err == ""


def test_a_stream_may_change_its_size(broadcast: Broadcast) -> None:
    broadcast.step = 40
    with open_source(broadcast.uri) as source:
        for (height, width), gray in (((48, 64), 80), ((96, 128), 120), ((30, 90), 160)):
            broadcast.size, broadcast.gray = (height, width), gray
            read_until(source, gray - 20)
            frame = source.read()
            assert frame is not None
            assert frame.image.shape == (height, width, 3)
            halves = frame.image[:, : width // 2 - 4].mean(), frame.image[:, width // 2 + 4 :].mean()
            np.testing.assert_allclose(halves, (gray - 40, gray), atol=4)
    assert (source.reconnects, source.skipped) == (0, 0)


@pytest.mark.slow
def test_a_stream_that_comes_back_in_another_size(broadcast: Broadcast, tmp_path: Path) -> None:
    """The whole loop goes on: recorder and page get pictures of another size."""
    graft = save_graft(tmp_path / "graft.onnx")
    out = tmp_path / "out.avi"
    codes: list[int] = []
    options = ["--frames", "40", "--threads", "1", "--json", str(tmp_path / "figures.json"), "--legend"]

    def restart() -> None:
        until(lambda: any(tmp_path.glob(".out.*.part.avi")))
        broadcast.cut()
        broadcast.size = (90, 70)
        broadcast.start(gray=200)

    thread = threading.Thread(target=restart)
    thread.start()
    codes.append(main(["run", str(graft), broadcast.uri, str(out), "http://:0", *options]))
    thread.join(20)
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert (codes, figures["frames"], figures["reconnects"]) == ([0], 40, 1)
    frames = frames_of(out)
    assert len({frame.shape for frame in frames}) == 1
    assert len(frames) >= 20


def test_a_stream_that_takes_no_orders_is_brought_to_the_rate(broadcast: Broadcast) -> None:
    with open_source(broadcast.uri, fps=10) as source:  # pictures come a hundred times a second
        times = [frame.time for frame in itertools.islice(iter(source.read, None), 6)]
    assert source.fps == 10
    assert times[-1] - times[0] > 0.3


@pytest.mark.slow
def test_silent_stream_is_given_up_and_found_again(
    broadcast: Broadcast, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(capture, "STREAM_TIMEOUT", 0.5)
    with caplog.at_level(logging.WARNING), open_source(broadcast.uri) as source:
        before = read_until(source, 50)
        broadcast.stalled.set()
        until(lambda: "lost after" in caplog.text)
        broadcast.stalled.clear()
        until(lambda: source.reconnects == 1)
        source.read()  # may have waited since before the silence
        assert read_until(source, 50) > before


def test_closing_ends_a_read_that_waits_for_a_lost_stream(broadcast: Broadcast) -> None:
    source = open_source(broadcast.uri)
    read_until(source, 50)
    broadcast.cut()
    answers: list[object] = []
    reader = threading.Thread(target=lambda: answers.extend(iter(source.read, None)))
    reader.start()
    source.close()
    reader.join(20)
    assert not reader.is_alive()
    broadcast.start(gray=50)


def test_stream_that_is_not_there_hides_the_password() -> None:
    with pytest.raises(SourceError, match=r"rtsp://user@127\.0\.0\.1:9/a: no answer") as caught:
        open_source("rtsp://user:secret@127.0.0.1:9/a")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("rtsp://user:s[cret@host/a", "rtsp://user@host/a"),
        ("rtsp://user:s#cr/et?@host:554/a", "rtsp://user@host:554/a"),
        ("rtsp://user:secr@t@[::1]:554/a", "rtsp://user@[::1]:554/a"),
        ("rtsp://user@host/a", "rtsp://user@host/a"),
        ("http://host/video?user=admin&pwd=secret", "http://host/video?…"),
        ("http://host/video?mail=a@b&pwd=secret", "http://host/video?…"),
        ("http://host/live/@cam1/stream", "http://host/live/@cam1/stream"),
        ("http://user@host/live/@cam1", "http://user@host/live/@cam1"),
        ("http://host/pwd=secr@t/a", "http://host/pwd=…/a"),
        ("http://user:secret@host/live/@cam1", "http://user@cam1"),
        ("http://user:sec/r@t@host/a", "http://user@host/a"),
        ("http://us/er:secret@host/a", "http://us@host/a"),
        ("http://host/video?secret", "http://host/video?…"),
        (
            "rtsp://host/user=admin&password=secret&channel=1.sdp?x",
            "rtsp://host/user=…&password=…&channel=…?…",
        ),
        ("http://[host/a", "http://[host/a"),
        ("test://?size=64x48", "test://?size=64x48"),
        ("photos/a@b=c?.jpg", "photos/a@b=c?.jpg"),
    ],
)
def test_passwords_are_not_shown(uri: str, shown: str) -> None:
    assert capture.without_password(uri) == shown


def test_source_of_an_unknown_kind_hides_the_password() -> None:
    with pytest.raises(SourceError, match="rtmp://user@host/a: no source of the kind rtmp://"):
        open_source("rtmp://user:secret@host/a")


def test_a_video_on_a_server_has_an_end(tmp_path: Path) -> None:
    writer = cv2.VideoWriter(str(tmp_path / "a.avi"), cv2.VideoWriter.fourcc(*"MJPG"), 12.5, (64, 48))
    for level in range(10):
        writer.write(np.full((48, 64, 3), 20 * level, np.uint8))
    writer.release()
    serve = partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        with open_source(f"http://127.0.0.1:{server.server_port}/a.avi") as source:
            assert (source.live, source.fps) == (False, 12.5)
            levels = [float(frame.image.mean()) for frame in iter(source.read, None)]
        with open_source(f"http://127.0.0.1:{server.server_port}/a.avi", loop=True) as source:
            assert [source.read().index for _ in range(25)] == list(range(25))  # type: ignore[union-attr]
        server.shutdown()
    np.testing.assert_allclose(levels, np.arange(10) * 20, atol=3)


def test_a_run_over_a_stream_keeps_the_password(
    broadcast: Broadcast, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graft, figures = save_graft(tmp_path / "graft.onnx"), tmp_path / "figures.json"
    uri = broadcast.uri.replace("http://", "http://user:secret@") + "?pwd=secret"
    assert main(["run", str(graft), uri, "null://", "--frames", "1", "--json", str(figures)]) == 0
    told = "".join(capsys.readouterr()) + figures.read_text()
    assert "user@127.0.0.1" in told
    assert "secret" not in told
