"""Serve the site: with the right types and headers, compressed if the browser accepts it."""

from __future__ import annotations

import functools
import mimetypes
import os
import shutil
import ssl
import threading
from collections import Counter
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import unquote, urlsplit

from ..errors import FastcamError
from ..network.certificate import Certificate

HEADERS = {
    # WebAssembly threads need a cross-origin isolated page.
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
_TYPES = {
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
_LONGEST_REPORT = 10_000_000
_CONNECTIONS = 128
_CONNECTIONS_OF_ONE = 32
"""Connections at the same time, in all and of one address: a browser opens six."""


class SiteServer:
    """Serves a folder until it is closed, in its own threads.

    Args:
        folder: The site.
        host: Address to listen on; empty for all.
        port: 0 for any free one.
        certificate: For https.
        on_report: Takes what a page posts to `/report`; without it nothing can be posted.
        isolated: Send the headers that threads need. Other static servers send none of them.

    Raises:
        FastcamError: The address cannot be listened on.
    """

    def __init__(
        self,
        folder: Path,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        certificate: Certificate | None = None,
        on_report: Callable[[bytes], None] | None = None,
        isolated: bool = True,
    ) -> None:
        context = None if certificate is None else certificate.context()
        handler = functools.partial(_Handler, folder.resolve(), on_report, isolated)
        try:
            self._server = _Server((host, port), handler)
        except OSError as error:
            raise FastcamError(f"cannot serve on {host or '*'}:{port}: {error.strerror or error}") from error
        self._server.context = context
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Serve until the process is interrupted."""
        self._thread.join()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    context: ssl.SSLContext | None = None

    def __init__(self, address: tuple[str, int], handler: Callable[..., _Handler]) -> None:
        self._visits = Counter[str]()
        self._lock = threading.Lock()
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Refuse a connection beyond the limits, each of which costs a thread."""
        address = client_address[0]
        with self._lock:
            full = self._visits.total() >= _CONNECTIONS or self._visits[address] >= _CONNECTIONS_OF_ONE
            if not full:
                self._visits[address] += 1
        if full:
            self.shutdown_request(request)
        else:
            super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Do the TLS handshake in the request's own thread, so that a slow client does not block others."""
        request.settimeout(_Handler.timeout)
        try:
            if self.context is not None:
                request = self.context.wrap_socket(request, server_side=True)
            super().process_request_thread(request, client_address)
        except OSError:
            self.shutdown_request(request)
        finally:
            with self._lock:
                self._visits[client_address[0]] -= 1
                self._visits += Counter()  # forgets the addresses of zero

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore errors: a browser that disconnects is not our error."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "fastcam", ""
    timeout = 10

    def __init__(
        self, folder: Path, on_report: Callable[[bytes], None] | None, isolated: bool, *args: object
    ) -> None:
        self._folder, self._on_report, self._isolated = folder, on_report, isolated
        super().__init__(*args)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        path = self._find()
        if path is None:
            self._answer(HTTPStatus.NOT_FOUND, "text/plain", b"not found\n")
            return
        packed = path.with_name(f"{path.name}.gz")
        encoding = {}
        kind = _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        if path.suffix == ".gz":
            kind = "application/gzip"
        elif "gzip" in self.headers.get("Accept-Encoding", "") and packed.is_file():
            path, encoding = packed, {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        with path.open("rb") as file:
            self._answer(HTTPStatus.OK, kind, file, encoding)

    do_HEAD = do_GET

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        if self._on_report is None or self.path != "/report" or not 0 < length <= _LONGEST_REPORT:
            self.close_connection = True
            self._answer(HTTPStatus.NOT_FOUND, "text/plain", b"not found\n")
            return
        self._on_report(self.rfile.read(length))
        self._answer(HTTPStatus.OK, "text/plain", b"thanks\n")

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing, for privacy."""

    def _find(self) -> Path | None:
        """The file that the request names; None if the site has no such file."""
        name = unquote(urlsplit(self.path).path).lstrip("/") or "index.html"
        try:
            path = (self._folder / name).resolve()
            return path if path.is_relative_to(self._folder) and path.is_file() else None
        except (OSError, ValueError):
            return None

    def _answer(
        self, status: HTTPStatus, kind: str, body: bytes | BinaryIO, more: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        size = len(body) if isinstance(body, bytes) else os.fstat(body.fileno()).st_size
        headers = {"Content-Type": kind, "Content-Length": str(size), **(more or {})}
        for name, value in {**headers, **(HEADERS if self._isolated else {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        if isinstance(body, bytes):
            self.wfile.write(body)
        else:  # piece by piece: many slow readers of a large model must not fill the memory
            shutil.copyfileobj(body, self.wfile)
