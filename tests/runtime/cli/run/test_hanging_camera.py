"""A camera that hangs: the command ends cleanly on request, even while OpenCV blocks."""

from __future__ import annotations

import json
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest
from support.processes import fastcam
from support.tiny_grafts import save_graft
from support.waiting import until


class Silent:
    """A server that sends so many pictures of an MJPEG stream, then nothing, and keeps the connection."""

    def __init__(self, pictures: int) -> None:
        self._pictures = pictures
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.sent = threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}/stream.mjpg"

    def close(self) -> None:
        self._listener.close()
        for connection in self._open:
            connection.close()

    def _serve(self) -> None:
        jpeg = cv2.imencode(".jpg", np.full((48, 64, 3), 90, np.uint8))[1].tobytes()
        part = b"--b\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n" % len(jpeg) + jpeg + b"\r\n"
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(connection)
            try:
                connection.recv(4096)
                if self._pictures:
                    head = b"HTTP/1.0 200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=b\r\n\r\n"
                    connection.sendall(head + part * self._pictures)
            except OSError:
                continue
            self.sent.set()


@pytest.fixture
def graft(tmp_path: Path) -> Path:
    return save_graft(tmp_path / "graft.onnx")


@pytest.fixture(params=[40, 0], ids=["silent after pictures", "silent from the start"])
def server(request: pytest.FixtureRequest) -> Iterator[Silent]:
    silent = Silent(request.param)
    yield silent
    silent.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("delay", "number"),
    [
        (0.0, signal.SIGINT),
        (0.3, signal.SIGTERM),
        (1.1, signal.SIGINT),
        (2.9, signal.SIGTERM),
        (5.2, signal.SIGINT),
    ],
)
def test_a_signal_ends_it_within_seconds(
    server: Silent, graft: Path, tmp_path: Path, number: signal.Signals, delay: float
) -> None:
    """The delays hit OpenCV while it reads, during its time-out, and while it reopens the stream."""
    report = tmp_path / "report.json"
    with fastcam("run", graft, server.uri, "null://", "--json", report, "--threads", "1") as process:
        until(server.sent.is_set, "nobody came")
        time.sleep(0.5 + delay)
        running = process.poll() is None
        process.send_signal(number)
        start = time.monotonic()
        _, errors = process.communicate(timeout=20)
    assert process.returncode != -signal.SIGABRT, errors
    assert "terminate called" not in errors
    assert "Traceback" not in errors
    assert time.monotonic() - start < 10
    if running and server._pictures:
        assert process.returncode == 0, errors
        assert json.loads(report.read_text())["frames"] > 0
