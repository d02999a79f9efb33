"""Camera modules of a Raspberry Pi (through picamera2) or a Jetson (through GStreamer)."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import cv2

from ..errors import SourceError
from ..image import Image
from .base import Source, SourceKind, SourceOptions
from .capture import CaptureGrabber
from .live_source import LiveSource

DEFAULT_SIZE = (1280, 720)
DEFAULT_FPS = 30.0


def open_csi(uri: str, options: SourceOptions, root: Path = Path("/")) -> Source:
    """Open the camera of `csi://NUMBER`; `csi://` is the first one. `root` is where the board is looked up.

    Raises:
        SourceError: There is no such camera, or its library is missing.
    """
    number = uri.removeprefix("csi://") or "0"
    if not number.isdecimal():
        raise SourceError(f"{uri}: {number!r} is not the number of a camera; the first one is csi://0")
    index = int(number)
    connect = _connect_jetson if is_jetson(root) else PicameraGrabber
    return LiveSource(f"csi://{index}", partial(connect, index, options), options)


CSI = SourceKind({"csi://0": "the camera module of a Raspberry Pi or Jetson"}, open_csi, schemes=("csi",))


def is_jetson(root: Path = Path("/")) -> bool:
    """Whether this is a Jetson board."""
    if (root / "etc/nv_tegra_release").exists():
        return True
    try:
        model = (root / "proc/device-tree/model").read_bytes()
    except OSError:
        return False
    return b"jetson" in model.lower()


class PicameraGrabber:
    """A Raspberry Pi camera module. Only this class imports picamera2."""

    def __init__(self, index: int, options: SourceOptions) -> None:
        try:
            from picamera2 import Picamera2
        except ImportError as error:
            raise SourceError(
                f"csi://{index}: OpenCV cannot open a camera module; on a Raspberry Pi, picamera2 is needed "
                f"(apt install python3-picamera2, and a venv made with --system-site-packages): {error}"
            ) from error
        except Exception as error:
            # For example when pip has replaced the numpy that the system's picamera2 was compiled for.
            raise SourceError(f"csi://{index}: picamera2 is there but cannot be loaded: {error}") from error
        there = len(Picamera2.global_camera_info())
        if index >= there:
            raise SourceError(f"csi://{index}: no such camera; picamera2 finds {there or 'none'}")
        self.fps: float | None = options.fps or DEFAULT_FPS
        try:
            self._camera: Any = Picamera2(index)
        except Exception as error:
            raise SourceError(f"csi://{index}: cannot be opened: {error}") from error
        try:
            self._camera.configure(
                self._camera.create_video_configuration(
                    # picamera2's RGB888 is blue, green, red in memory: OpenCV's order.
                    main={"size": options.size or DEFAULT_SIZE, "format": "RGB888"},
                    controls={"FrameRate": self.fps},
                )
            )
            self._camera.start()
        except Exception as error:
            self._camera.close()
            raise SourceError(f"csi://{index}: the camera does not start: {error}") from error

    def grab(self) -> Image | None:
        try:
            image: Image = self._camera.capture_array("main")
        except Exception:
            # libcamera's errors have no common class; after any of them the camera is reopened.
            return None
        return image

    def release(self) -> None:
        try:
            self._camera.stop()
        finally:
            self._camera.close()


def jetson_pipeline(index: int, options: SourceOptions) -> str:
    """The GStreamer pipeline from the sensor to OpenCV's BGR; it buffers only the newest frame."""
    width, height = options.size or DEFAULT_SIZE
    rate = Fraction(options.fps or DEFAULT_FPS).limit_denominator(1001)
    return (
        f"nvarguscamerasrc sensor-id={index} "
        f"! video/x-raw(memory:NVMM), width=(int){width}, height=(int){height}, "
        f"framerate=(fraction){rate.numerator}/{rate.denominator} "
        "! nvvidconv ! video/x-raw, format=(string)BGRx "
        "! videoconvert ! video/x-raw, format=(string)BGR "
        "! appsink drop=true max-buffers=1 sync=false"
    )


def _connect_jetson(index: int, options: SourceOptions) -> CaptureGrabber:
    if cv2.CAP_GSTREAMER not in cv2.videoio_registry.getBackends():
        raise SourceError(
            f"csi://{index}: this OpenCV was built without GStreamer, which a Jetson's camera needs; "
            "use the OpenCV of JetPack (apt install python3-opencv), not the one of pip"
        )
    capture = cv2.VideoCapture(jetson_pipeline(index, options), cv2.CAP_GSTREAMER)
    if not capture.isOpened():
        raise SourceError(f"csi://{index}: nvarguscamerasrc finds no such camera, or it is busy")
    return CaptureGrabber(capture)
