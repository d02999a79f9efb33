"""`http://[host]:port`: a live page for a device without a screen."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from http import HTTPStatus
from importlib import resources
from typing import ClassVar

from ...draw.views import frame_point
from ...errors import FastcamError
from ...image import Image
from ...live import prometheus
from ...live.controls import Controls
from ...live.metrics import LoopMetrics
from ...network.certificate import Certificate
from ...web.assets import asset_folder
from ..base import Sink, Status
from .access import Access
from .address import announce, parse_address, reachable
from .changes import apply_changes, parse_changes
from .http_request import Refusal, Request
from .http_server import BoundedServer, send, send_file
from .latest_frame import LatestFrame
from .recorder import Recorder
from .state import page_choices, page_status
from .stream import PictureStream

_JSON = "application/json"
_TEXT = "text/plain; charset=utf-8"
_RECORDINGS = "/recordings/"
_FILES = {"/": "page.html", **{f"/{name}": name for name in ("page.css", "page.js", "class_box.js")}}
"""The page's own files by address."""
_TYPES = {"html": "html", "css": "css", "js": "javascript"}
_POLICY = (
    "default-src 'none'; img-src 'self' data:; connect-src 'self'; script-src 'self'; style-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Only scripts, styles and pictures of this server; no script or style inside the page's text."""

Handler = Callable[[Request, socket.socket], None]


class LivePage(Sink):
    """A web page with the live picture, its status and the controls.

    `write` copies the picture and returns; encoding and sending happen in the viewers' threads.

    Args:
        uri: `http://host:port`; without a host, only this machine can open the page.
        controls: Changed by the page's buttons.
        token: The password. Opening `/?token=…` once sets a cookie.
        metrics: What the loop counts, for the page, `/healthz` and `/metrics`.
        recorder: For the record button; None for no such button.
        certificate: Serve by https, with it.

    Raises:
        SinkError: The server cannot listen on the address.
    """

    interactive: ClassVar[bool] = True

    def __init__(
        self,
        uri: str,
        controls: Controls,
        token: str | None = None,
        *,
        metrics: LoopMetrics | None = None,
        recorder: Recorder | None = None,
        certificate: Certificate | None = None,
    ) -> None:
        host, port = parse_address(uri)
        self._controls = controls
        self._metrics = metrics or LoopMetrics()
        self._recorder = recorder
        self._latest = LatestFrame()
        self._stream = PictureStream(self._latest)
        files = {path: resources.files(__package__) / name for path, name in _FILES.items()}
        files["/classes.js"] = asset_folder() / "classes.js"
        self._files = {
            path: (file.read_bytes(), f"text/{_TYPES[file.name.rpartition('.')[2]]}; charset=utf-8")
            for path, file in files.items()
        }
        self._open_routes: dict[str, tuple[str, Handler]] = {
            "/healthz": ("GET", self._send_health),
            "/metrics": ("GET", self._send_metrics),
        }
        """For monitoring programs: without a token, because they reveal nothing private."""
        self._routes: dict[str, tuple[str, Handler]] = {
            **dict.fromkeys(self._files, ("GET", self._send_own_file)),
            "/stream.mjpg": ("GET", lambda request, connection: self._stream.send(connection)),
            "/snapshot.jpg": ("GET", self._send_snapshot),
            "/status": ("GET", self._send_status),
            "/choices": ("GET", self._send_choices),
            "/control": ("POST", self._take_control),
        }
        self._access = Access(host, port, token, secure=certificate is not None)
        context = None if certificate is None else certificate.context()
        self._server = BoundedServer(host, port, self._answer, context)
        self.url = f"{'http' if context is None else 'https'}://{reachable(host)}:{self._server.port}/"
        announce(self.url, host, token)

    def write(self, picture: Image, status: Status) -> None:
        self._latest.publish(picture, status)
        if self._recorder is not None:
            self._recorder.write(picture, status)

    def refresh(self) -> None:
        if self._recorder is not None:
            self._recorder.refresh()

    def close(self) -> None:
        if self._recorder is not None:
            self._recorder.close()
        if not self._latest.closed:
            self._latest.close()
            self._server.stop()

    def _answer(self, request: Request, connection: socket.socket) -> None:
        routes = self._open_routes
        if request.path not in routes:
            self._access.check(request)
            routes = self._routes
        path = request.path
        if path not in routes and not path.startswith(_RECORDINGS):
            raise Refusal(HTTPStatus.NOT_FOUND, "there is no such page")
        method, answer = routes.get(path, ("GET", self._send_recording))
        if request.method != method:
            raise Refusal(HTTPStatus.METHOD_NOT_ALLOWED, f"only {method}", {"Allow": method})
        answer(request, connection)

    def _send_own_file(self, request: Request, connection: socket.socket) -> None:
        cookie = self._access.cookie_for(request)
        if cookie is not None:
            # Redirect, so that the token does not stay visible in the address bar.
            away = {"Location": request.path, "Set-Cookie": cookie}
            send(connection, b"", "text/plain", HTTPStatus.SEE_OTHER, away)
            return
        headers = {"Content-Security-Policy": _POLICY, "X-Frame-Options": "DENY"}
        send(connection, *self._files[request.path], headers=headers)

    def _send_snapshot(self, request: Request, connection: socket.socket) -> None:
        latest = self._latest.jpeg(0, timeout=2.0)
        if latest is None:
            raise Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "there is no picture yet")
        disposition = {"Content-Disposition": 'inline; filename="fastcam.jpg"'}
        send(connection, latest[1], "image/jpeg", headers=disposition)

    def _send_status(self, request: Request, connection: socket.socket) -> None:
        status = page_status(self._controls, self._latest, self._metrics, self._recorder)
        send(connection, json.dumps(status).encode(), _JSON)

    def _send_choices(self, request: Request, connection: socket.socket) -> None:
        send(connection, json.dumps(page_choices(self._controls)).encode(), _JSON)

    def _take_control(self, request: Request, connection: socket.socket) -> None:
        self._access.check_same_origin(request)
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _JSON:
            raise Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"the body must be {_JSON}")
        try:
            changes = parse_changes(request.body)
            if isinstance(changes.get("box"), list):
                changes["box"] = self._place(*changes["box"])
            apply_changes(changes, self._controls, self._recorder)
        except FastcamError as error:
            body = json.dumps({"error": str(error)}).encode()
            send(connection, body, _JSON, HTTPStatus.BAD_REQUEST)
            return
        self._send_status(request, connection)

    def _place(self, x: float, y: float) -> tuple[float, float] | None:
        """The point of the frame under a point of the latest picture."""
        status = self._latest.status
        if status is None or status.image is None:
            return None
        height, width = status.image.shape[:2]
        return frame_point(status.view, self._latest.size, (width, height), x, y)

    def _send_recording(self, request: Request, connection: socket.socket) -> None:
        name = request.path.removeprefix(_RECORDINGS)
        path = self._recorder.find(name) if self._recorder is not None else None
        if path is None:
            raise Refusal(HTTPStatus.NOT_FOUND, "there is no such recording")
        send_file(connection, path, "video/mp4")

    def _send_health(self, request: Request, connection: socket.socket) -> None:
        """200 only while frames flow; the body says why not."""
        silent = self._metrics.silent_seconds
        if self._metrics.age is None:
            why = "no frame yet"
        elif self._controls.paused:
            why = "paused"
        elif silent is not None:
            why = f"no frame for {silent} s"
        else:
            send(connection, b"ok\n", _TEXT)
            return
        send(connection, f"{why}\n".encode(), _TEXT, HTTPStatus.SERVICE_UNAVAILABLE)

    def _send_metrics(self, request: Request, connection: socket.socket) -> None:
        send(connection, prometheus.exposition(self._metrics).encode(), prometheus.CONTENT_TYPE)
