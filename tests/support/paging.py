"""A fake of the loop behind a live page, and clients over sockets."""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading

import cv2
import numpy as np
from fastcam_runtime.classes import Prediction
from fastcam_runtime.errors import FastcamError
from fastcam_runtime.live.controls import Controls, Look
from fastcam_runtime.live.metrics import LoopMetrics
from fastcam_runtime.network.certificate import Certificate
from fastcam_runtime.sinks import Status, open_sink
from fastcam_runtime.sinks.kept_folder import KeptFolder
from fastcam_runtime.sinks.live_page.page import LivePage

COLOURS = {"overlay": (0, 0, 255), "map": (0, 255, 0), "side": (255, 0, 0)}
"""The colour that the fake loop draws for each view, blue-green-red."""


LABELS = ("concatenated", "wild cat", "catfish", "dog", "tabby", "crane", "crane", "tiger cat")


def check_class(text: str) -> None:
    if text not in ("tabby", "281", "catfish", "6"):
        raise FastcamError(f"no class {text!r}; closest: tabby")


class Loop:
    """A fake loop: repeatedly writes a picture of the view's colour, in its own thread."""

    def __init__(
        self,
        uri: str = "http://:0",
        token: str | None = None,
        kept: KeptFolder | None = None,
        certificate: Certificate | None = None,
    ) -> None:
        self.controls = Controls(
            tuple(COLOURS),
            check_class=check_class,
            labels=LABELS,
            look=Look("inferno", 0.9),
            colormaps=("inferno", "gray"),
        )
        self.metrics = LoopMetrics()
        self.sink = open_sink(
            uri,
            fps=30,
            controls=self.controls,
            token=token,
            real_time=True,
            metrics=self.metrics,
            kept=kept,
            certificate=certificate,
        )
        assert isinstance(self.sink, LivePage)
        self.url = self.sink.url
        self.port = int(self.url.rstrip("/").rpartition(":")[2])
        self.written = 0
        self.size = (640, 480)
        self.top: tuple[Prediction, ...] = ()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        noise = np.random.default_rng(0).integers(0, 40, (self.size[1], self.size[0], 3), np.uint8)
        while not self.controls.stop.wait(0.01):
            picture = cv2.add(noise, np.full_like(noise, COLOURS[self.controls.view]))
            latency = {"capture": 1.5, "inference": 20.25, "sink": float("nan")}
            status = Status(
                self.written,
                "<b>cat & dog</b>",
                0.875,
                24.5,
                latency,
                self.controls.view,
                dropped=3,
                top=self.top,
            )
            self.sink.write(picture, status)
            self.written += 1

    def close(self) -> None:
        self.controls.request_stop()
        self._thread.join(20)
        assert not self._thread.is_alive()
        self.sink.close()
        self.sink.close()

    def request(
        self,
        method: str,
        path: str,
        body: str | None = None,
        headers: dict[str, str] | None = None,
        address: str = "127.0.0.1",
    ) -> tuple[http.client.HTTPResponse, bytes]:
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.port, timeout=20, source_address=(address, 0)
        )
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return response, content

    def control(self, body: str, **headers: str) -> tuple[int, str]:
        fields = {"Content-Type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}}
        response, content = self.request("POST", "/control", body, fields)
        return response.status, content.decode()

    def connect(self, address: str = "127.0.0.1") -> socket.socket:
        """A connection from an address of this machine."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=20, source_address=(address, 0))

    def send(self, data: bytes) -> bytes:
        """Everything that is answered to raw bytes until the connection ends."""
        with self.connect() as connection:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.sendall(data)
            return receive_all(connection)


def receive_all(connection: socket.socket) -> bytes:
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := connection.recv(65536):
            received += piece
    return received


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ")[1])


class Viewer:
    """Watches the stream as a browser does, part by part."""

    def __init__(self, loop: Loop) -> None:
        self._connection = loop.connect()
        self._connection.sendall(b"GET /stream.mjpg HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self._file = self._connection.makefile("rb")
        self.status = status_of(self._file.readline())
        while self._file.readline().strip():
            pass

    def picture(self) -> np.ndarray:
        """The next picture of the stream."""
        length = 0
        while not length:
            line = self._file.readline()
            assert line, "the stream ended"
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        assert self._file.readline() == b"\r\n"
        return cv2.imdecode(np.frombuffer(self._file.read(length), np.uint8), cv2.IMREAD_COLOR)

    def rest(self) -> bytes:
        """Everything up to the end of the stream."""
        return self._file.read()

    def close(self) -> None:
        self._file.close()
        self._connection.close()
