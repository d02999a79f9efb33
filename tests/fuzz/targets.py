"""The targets: one function per kind of input. Each returns, or raises an error that no user should see."""

from __future__ import annotations

import socket
import tempfile
from pathlib import Path

from fastcam_export.cli.inspect import describe
from fastcam_export.options import Options
from fastcam_runtime.contract import METADATA_KEY, Metadata
from fastcam_runtime.errors import FastcamError, UnexpectedError
from fastcam_runtime.model.description import describe_graft
from fastcam_runtime.model.file import Summary, summarize
from fastcam_runtime.model.pruning import cut
from fastcam_runtime.model.session import open_session
from fastcam_runtime.sinks.live_page.address import parse_address
from fastcam_runtime.sinks.live_page.http_request import Refusal, read_request
from fastcam_runtime.sinks.registry import KINDS as SINK_KINDS
from fastcam_runtime.sources.capture import without_password
from fastcam_runtime.sources.registry import KINDS as SOURCE_KINDS


def models(data: bytes) -> None:
    """A model file: the device's reader, and the analysis of the exporter."""
    for read in (summarize, cut):
        try:
            read(data)
        except FastcamError as error:
            _check(error)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        path.write_bytes(data)
        try:
            describe(str(path), Options())
        except FastcamError as error:
            _check(error)


def metadata(data: bytes) -> None:
    """The JSON of a grafted file."""
    text = data.decode(errors="surrogateescape")
    try:
        Metadata.from_json(text)
        describe_graft(Path("a.onnx"), Summary(("saliency_map",), {METADATA_KEY: text}, ()))
    except FastcamError as error:
        _check(error)


def ort(data: bytes) -> None:
    """A file in onnxruntime's own format."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.ort"
        path.write_bytes(data)
        try:
            open_session(path, threads=1, provider="cpu")
        except FastcamError as error:
            _check(error)


def http(data: bytes) -> None:
    """A request to the live page, from a client that closes its side afterwards."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.setblocking(False)
        try:
            theirs.sendall(data[: 64 << 10])
        except BlockingIOError:
            return
        theirs.shutdown(socket.SHUT_WR)
        try:
            read_request(ours)
        except Refusal as refusal:
            if "\n" in refusal.text:
                raise ValueError(refusal.text) from refusal


def uris(data: bytes) -> None:
    """An input or output as a user types it: which kind it is; nothing is opened."""
    uri = data.decode(errors="surrogateescape").replace("\0", "")
    without_password(uri)
    for ask in (*(kind.accepts for kind in (*SOURCE_KINDS, *SINK_KINDS)), parse_address):
        try:
            ask(uri)
        except FastcamError as error:
            _check(error)
        except OSError:
            """The command line says it in one line: a name that is too long, a folder without permission."""


TARGETS = {"models": models, "metadata": metadata, "ort": ort, "http": http, "uris": uris}


def _check(error: FastcamError) -> None:
    if isinstance(error, UnexpectedError):
        raise error.__cause__ or error
