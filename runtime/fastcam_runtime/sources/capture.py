"""Cameras and streams that OpenCV opens itself: USB webcams, RTSP and HTTP."""

from __future__ import annotations

import re
import sys
import time
from functools import partial
from pathlib import Path

import cv2

from ..errors import SourceError
from ..image import Image
from .base import Source, SourceKind, SourceOptions
from .files import VideoFrames
from .live_source import LiveSource
from .quiet import decoding

STREAM_TIMEOUT = 5.0
"""Seconds that a server may take to answer, and that may pass between two frames."""
_FASTEST = 1000.0


class CaptureGrabber:
    """A `cv2.VideoCapture` as a `Grabber`.

    `timeout` are the seconds after which OpenCV gives up a read; None if it does not tell. A camera with
    `jpegs` returns JPEG files, which are decoded here.
    """

    def __init__(
        self, capture: cv2.VideoCapture, timeout: float | None = None, *, jpegs: bool = False
    ) -> None:
        self._capture = capture
        self._timeout = timeout
        self._jpegs = jpegs

    @property
    def fps(self) -> float | None:
        rate = float(self._capture.get(cv2.CAP_PROP_FPS))
        return rate if 0 < rate <= _FASTEST else None

    def grab(self) -> Image | None:
        began = time.monotonic()
        try:
            readable, image = self._capture.read()
            if self._jpegs and image is not None and image.size:
                with decoding():
                    image = cv2.imdecode(image, cv2.IMREAD_COLOR)
        except cv2.error:
            return None
        # OpenCV hides that it gave up: it returns frames that the decoder still held, one each time.
        if self._timeout is not None and time.monotonic() - began >= self._timeout:
            return None
        return image if readable and image is not None and image.size else None

    def release(self) -> None:
        self._capture.release()


def open_webcam(name: str, options: SourceOptions, devices: Path = Path("/dev")) -> Source:
    """Open a webcam by its number or as `/dev/videoN`.

    Raises:
        SourceError: There is no such device, or OpenCV cannot read it.
    """
    index = int(name.removeprefix("/dev/video"))
    return LiveSource(name, partial(_connect_webcam, name, index, options, devices), options)


WEBCAM = SourceKind(
    {"0": "the first webcam", "/dev/video0": "a webcam by its device"},
    open_webcam,
    matches=lambda uri: re.fullmatch(r"\d+|/dev/video\d+", uri) is not None,
)


def _connect_webcam(name: str, index: int, options: SourceOptions, devices: Path) -> CaptureGrabber:
    backend = cv2.CAP_ANY
    if sys.platform == "linux":
        backend = cv2.CAP_V4L2
        if not (devices / f"video{index}").exists():
            there = sorted(str(device) for device in devices.glob("video[0-9]*"))
            raise SourceError(f"{name}: no such camera; there is {', '.join(there) or 'none'}")
    capture = cv2.VideoCapture(index, backend)
    if not capture.isOpened():
        raise SourceError(
            f"{name}: OpenCV cannot read this device (busy, no permission, or a camera module: that is csi://0)"
        )
    if options.size is not None:
        # USB 2 is too slow for uncompressed video of this size at full rate.
        if options.size[0] * options.size[1] > 640 * 480:
            capture.set(cv2.CAP_PROP_FOURCC, cv2.VideoWriter.fourcc(*"MJPG"))
        capture.set(cv2.CAP_PROP_FRAME_WIDTH, options.size[0])
        capture.set(cv2.CAP_PROP_FRAME_HEIGHT, options.size[1])
    if options.fps is not None:
        capture.set(cv2.CAP_PROP_FPS, options.fps)
    capture.set(cv2.CAP_PROP_BUFFERSIZE, 1)
    return CaptureGrabber(capture)


def open_stream(uri: str, options: SourceOptions) -> Source:
    """Open a network stream, or a video file on a server.

    No message shows the password or the query of `uri`.

    Raises:
        SourceError: No server answers, or it does not send a video.
    """
    name = without_password(uri)
    opened = [_connect_stream(name, uri)]

    def connect() -> cv2.VideoCapture:
        return opened.pop() if opened else _connect_stream(name, uri)

    if opened[0].get(cv2.CAP_PROP_FRAME_COUNT) > 0:  # 0 or negative for a stream
        return VideoFrames(name, connect, options)
    return LiveSource(name, lambda: _stream_grabber(connect()), options)


def _stream_grabber(capture: cv2.VideoCapture) -> CaptureGrabber:
    """A stream as a `Grabber`; the pictures of an MJPEG stream may change their size.

    OpenCV 4.8 to 4.12 decode all of them in the size of the first: smaller ones are cut, and larger ones do
    not appear. So OpenCV only receives the JPEG files here.
    """
    jpegs = int(capture.get(cv2.CAP_PROP_FOURCC)) == cv2.VideoWriter.fourcc(*"MJPG")
    return CaptureGrabber(capture, STREAM_TIMEOUT, jpegs=jpegs and capture.set(cv2.CAP_PROP_FORMAT, -1))


STREAM = SourceKind(
    {
        "rtsp://…": "a network camera; opened again when the connection is lost",
        "http://…": "a stream or a video on a web server",
    },
    open_stream,
    schemes=("http", "https", "rtsp", "rtsps"),
)


def _connect_stream(name: str, uri: str) -> cv2.VideoCapture:
    milliseconds = round(1e3 * STREAM_TIMEOUT)
    timeouts = [cv2.CAP_PROP_OPEN_TIMEOUT_MSEC, milliseconds, cv2.CAP_PROP_READ_TIMEOUT_MSEC, milliseconds]
    capture = cv2.VideoCapture(uri, cv2.CAP_FFMPEG, timeouts)
    if not capture.isOpened():
        raise SourceError(f"{name}: no answer, or not a video stream")
    return capture


def without_password(uri: str) -> str:
    """The URI without secrets, for messages; a URI that is not of a network is returned unchanged.

    A password may contain any character, so everything between the user name and the last `@` is removed,
    unless that `@` belongs to the path or query (no colon before it). The query and values after `=` are
    removed too, because some cameras take the password there.
    """
    scheme, separator, rest = uri.partition("://")
    if not separator or scheme in ("test", "csi"):
        return uri
    login, at, place = rest.rpartition("@")
    if ":" not in login and re.search("[/?#]", login):
        login, at, place = "", "", rest
    user = re.split("[:/?#]", login)[0]
    place = re.sub(r"\?.+|=[^&;/?]+", lambda match: match[0][0] + "…", place)
    return f"{scheme}://{user}{at}{place}"
