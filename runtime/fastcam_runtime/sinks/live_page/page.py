"""`http://[host]:port`: a live page for a device without a screen."""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import re
import socket
import threading
from http import HTTPStatus
from importlib import resources
from typing import Any, ClassVar
from urllib.parse import urlsplit

from ...errors import FastcamError, SinkError
from ...image import Image
from ...live.controls import Controls
from ..base import Sink, Status, finite
from .access import Access
from .http_request import Refusal, Request
from .http_server import SEND_SECONDS, BoundedServer, head, send
from .latest_frame import LatestFrame

logger = logging.getLogger(__name__)

LOOPBACK = "127.0.0.1"
SILENT_SECONDS = 3.0
SILENT_PICTURES = 3
"""The page reports a silent source after both this time and this many frame periods without a picture."""
VIEWERS_LIMIT = 8
_BOUNDARY = "picture"
_STREAM_BUFFER = 131072
"""Send buffer in bytes. It is small, so that a slow viewer gets the latest picture and not a backlog."""
_REPEAT_SECONDS = 5.0
_JSON = "application/json"


class LivePage(Sink):
    """A web page with the live picture, its status and the controls.

    `write` copies the picture and returns; encoding and sending happen in the viewers' threads.

    Args:
        uri: `http://host:port`; without a host, only this machine can open the page.
        controls: Changed by the page's buttons.
        token: The password. Opening `/?token=…` once sets a cookie.

    Raises:
        SinkError: The server cannot listen on the address.
    """

    interactive: ClassVar[bool] = True

    def __init__(self, uri: str, controls: Controls, token: str | None = None) -> None:
        host, port = _address(uri)
        self._controls = controls
        self._latest = LatestFrame()
        self._viewers = threading.BoundedSemaphore(VIEWERS_LIMIT)
        self._page = resources.files(__package__).joinpath("page.html").read_bytes()
        self._policy = _policy(self._page.decode())
        self._access = Access(host, port, token)
        self._server = BoundedServer(host, port, self._answer)
        self.url = f"http://{_reachable(host)}:{self._server.port}/"
        _announce(self.url, host, token)

    def write(self, picture: Image, status: Status) -> None:
        self._latest.publish(picture, status)

    def close(self) -> None:
        if not self._latest.closed:
            self._latest.close()
            self._server.stop()

    def _answer(self, request: Request, connection: socket.socket) -> None:
        self._access.check(request)
        routes = {
            "/": ("GET", self._send_page),
            "/stream.mjpg": ("GET", self._send_stream),
            "/snapshot.jpg": ("GET", self._send_snapshot),
            "/status": ("GET", self._send_status),
            "/control": ("POST", self._take_control),
        }
        if request.path not in routes:
            raise Refusal(HTTPStatus.NOT_FOUND, "there is no such page")
        method, send_answer = routes[request.path]
        if request.method != method:
            raise Refusal(HTTPStatus.METHOD_NOT_ALLOWED, f"only {method}", {"Allow": method})
        send_answer(request, connection)

    def _send_page(self, request: Request, connection: socket.socket) -> None:
        cookie = self._access.cookie_for(request)
        if cookie is not None:
            # Redirect, so that the token does not stay visible in the address bar.
            away = {"Location": "/", "Set-Cookie": cookie}
            send(connection, b"", "text/plain", HTTPStatus.SEE_OTHER, away)
            return
        headers = {"Content-Security-Policy": self._policy, "X-Frame-Options": "DENY"}
        send(connection, self._page, "text/html; charset=utf-8", headers=headers)

    def _send_stream(self, request: Request, connection: socket.socket) -> None:
        if not self._viewers.acquire(blocking=False):
            raise Refusal(HTTPStatus.SERVICE_UNAVAILABLE, f"{VIEWERS_LIMIT} viewers are connected already")
        try:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _STREAM_BUFFER)
            connection.settimeout(SEND_SECONDS)
            kind = f"multipart/x-mixed-replace; boundary={_BOUNDARY}"
            connection.sendall(head(HTTPStatus.OK, kind) + f"--{_BOUNDARY}\r\n".encode())
            shown = 0
            while not self._latest.closed:
                # Without a new picture, send the last one again: that detects a viewer that has disconnected.
                latest = self._latest.jpeg(shown, _REPEAT_SECONDS) or self._latest.jpeg(shown - 1, 0)
                if latest is not None:
                    shown, jpeg = latest
                    connection.sendall(_part(jpeg))
                elif _is_gone(connection):
                    return
        finally:
            self._viewers.release()

    def _send_snapshot(self, request: Request, connection: socket.socket) -> None:
        latest = self._latest.jpeg(0, timeout=2.0)
        if latest is None:
            raise Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "there is no picture yet")
        send(
            connection,
            latest[1],
            "image/jpeg",
            headers={"Content-Disposition": 'inline; filename="fastcam.jpg"'},
        )

    def _send_status(self, request: Request, connection: socket.socket) -> None:
        send(connection, json.dumps(self._state()).encode(), _JSON)

    def _take_control(self, request: Request, connection: socket.socket) -> None:
        self._access.check_same_origin(request)
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _JSON:
            raise Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"the body must be {_JSON}")
        try:
            self._change(_parse_changes(request.body))
        except FastcamError as error:
            body = json.dumps({"error": str(error)}).encode()
            send(connection, body, _JSON, HTTPStatus.BAD_REQUEST)
            return
        self._send_status(request, connection)

    def _change(self, changes: dict[str, Any]) -> None:
        """Apply all changes, or none if one is invalid."""
        choice = changes.get("class")
        choice = None if choice is None else str(choice)
        if "view" in changes:
            self._controls.check_view(changes["view"])
        self._controls.check_class(choice)
        if "view" in changes:
            self._controls.set_view(changes["view"])
        if "class" in changes:
            self._controls.set_class(choice)
        if "paused" in changes:
            self._controls.set_paused(changes["paused"])

    def _state(self) -> dict[str, object]:
        """What the page shows besides the picture."""
        status = self._latest.status or Status(frame=-1)
        width, height = self._latest.size
        silent = self._silent_seconds(status)
        return {
            "frame": status.frame,
            "label": status.label,
            "score": finite(status.score),
            "fps": finite(status.fps) if silent is None else None,
            "silent": silent,
            "latency": {stage: finite(milliseconds) for stage, milliseconds in status.latency.items()},
            "dropped": status.dropped,
            "width": width,
            "height": height,
            "views": self._controls.views,
            "view": self._controls.view,
            "class": self._controls.class_choice,
            "has_classes": self._controls.has_classes,
            "paused": self._controls.paused,
        }

    def _silent_seconds(self, status: Status) -> int | None:
        """Whole seconds without a picture if several are overdue, as when a camera is lost; else None."""
        fps = finite(status.fps)
        if not fps or self._controls.paused:
            return None
        age = self._latest.age
        return int(age) if age > max(SILENT_SECONDS, SILENT_PICTURES / fps) else None


_CHANGES: dict[str, tuple[type, ...]] = {
    "view": (str,),
    "class": (str, int, type(None)),
    "paused": (bool,),
}


def _parse_changes(body: bytes) -> dict[str, Any]:
    """The JSON object in `body`, with its keys and types checked."""
    try:
        changes = json.loads(body)
    except (ValueError, RecursionError):
        raise SinkError("the body is not JSON") from None
    if not isinstance(changes, dict) or not changes:
        raise SinkError(f"the body must be an object with any of {', '.join(_CHANGES)}")
    for key, value in changes.items():
        if key not in _CHANGES:
            raise SinkError(f"no control {key[:40]!r}; there are {', '.join(_CHANGES)}")
        # In Python, bool is a subclass of int.
        if not isinstance(value, _CHANGES[key]) or (isinstance(value, bool) and bool not in _CHANGES[key]):
            raise SinkError(f"{key} cannot be {json.dumps(value)[:40]}")
    return changes


def _is_gone(connection: socket.socket) -> bool:
    """Whether the client has disconnected; other data from it is discarded."""
    connection.setblocking(False)
    try:
        return not connection.recv(4096)
    except BlockingIOError:
        return False
    finally:
        connection.settimeout(SEND_SECONDS)


def _part(jpeg: bytes) -> bytes:
    # The boundary follows its picture at once: a browser shows a part only when it has seen the end of it.
    fields = f"Content-Type: image/jpeg\r\nContent-Length: {len(jpeg)}\r\n\r\n"
    return fields.encode() + jpeg + f"\r\n--{_BOUNDARY}\r\n".encode()


def _policy(page: str) -> str:
    """A content security policy: only the page's own script and style, and resources from this server."""
    sources = {
        kind: " ".join(
            f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
            for text in re.findall(rf"<{kind}>(.*?)</{kind}>", page, re.DOTALL)
        )
        for kind in ("script", "style")
    }
    return (
        f"default-src 'none'; img-src 'self' data:; connect-src 'self'; script-src {sources['script']}; "
        f"style-src {sources['style']}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def _address(uri: str) -> tuple[str, int]:
    """Host and port of `http://[host]:port`."""
    try:
        parts = urlsplit(uri)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise SinkError(f"{uri}: {error}") from error
    if port is None or parts.path not in ("", "/") or parts.query or parts.username is not None:
        raise SinkError(
            f"{uri}: a live page is http://[host]:port, as in http://:8000 or http://0.0.0.0:8000"
        )
    return host or LOOPBACK, port


def _reachable(host: str) -> str:
    """A host name for the browser; for a page on all interfaces, this machine's address in the network."""
    if host not in ("0.0.0.0", "::"):
        return f"[{host}]" if ":" in host else host
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # Sends nothing: the system only chooses the interface.
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return socket.gethostname()


def _announce(url: str, host: str, token: str | None) -> None:
    if host in (LOOPBACK, "localhost", "::1"):
        logger.info("live page at %s (this machine only; http://0.0.0.0:PORT opens it to the network)", url)
    elif token is None:
        logger.warning("live page at %s (open to everybody on the network; set a password with --token)", url)
    else:
        logger.info("live page at %s?token=… (open to the network, with this token)", url)
