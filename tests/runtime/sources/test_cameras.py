"""Webcams and the cameras of a Jetson and a Raspberry Pi, with fakes of their libraries."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest
from fastcam_runtime.errors import SourceError
from fastcam_runtime.sources import SourceOptions, capture, csi
from support.waiting import until


def test_webcam_that_is_not_there_names_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="7: no such camera; there is none"):
        capture.open_webcam("7", SourceOptions(), devices=tmp_path)
    (tmp_path / "video0").touch()
    with pytest.raises(SourceError, match=f"/dev/video7: no such camera; there is {tmp_path}/video0"):
        capture.open_webcam("/dev/video7", SourceOptions(), devices=tmp_path)


class StandInCapture:
    """`cv2.VideoCapture` of a camera that records the requested settings."""

    opened: list[StandInCapture]
    working = True

    def __init__(self, *arguments: Any) -> None:
        self.arguments = arguments
        self.asked: dict[int, float] = {}
        self.opened.append(self)

    def isOpened(self) -> bool:
        return self.working

    def set(self, key: int, value: float) -> bool:
        self.asked[key] = value
        return True

    def get(self, key: int) -> float:
        return self.asked.get(key, 15.0)

    def read(self) -> tuple[bool, np.ndarray]:
        time.sleep(0.001)
        return True, np.full((48, 64, 3), (1, 2, 3), np.uint8)

    def release(self) -> None:
        self.working = False


@pytest.fixture
def captures(monkeypatch: pytest.MonkeyPatch) -> list[StandInCapture]:
    opened: list[StandInCapture] = []
    monkeypatch.setattr(StandInCapture, "opened", opened, raising=False)
    monkeypatch.setattr(cv2, "VideoCapture", StandInCapture)
    return opened


@pytest.mark.skipif(sys.platform != "linux", reason="devices are files on Linux only")
def test_webcam_is_asked_for_size_and_rate(captures: list[StandInCapture], tmp_path: Path) -> None:
    (tmp_path / "video2").touch()
    options = SourceOptions(size=(1280, 720), fps=59.94, flip="horizontal")
    with capture.open_webcam("/dev/video2", options, devices=tmp_path) as source:
        frame = source.read()
    (camera,) = captures
    assert camera.arguments == (2, cv2.CAP_V4L2)
    assert camera.asked[cv2.CAP_PROP_FRAME_WIDTH] == 1280
    assert camera.asked[cv2.CAP_PROP_FRAME_HEIGHT] == 720
    assert camera.asked[cv2.CAP_PROP_FPS] == source.fps == 59.94
    assert camera.asked[cv2.CAP_PROP_FOURCC] == cv2.VideoWriter.fourcc(*"MJPG")
    assert frame is not None
    assert frame.image.shape == (720, 1280, 3)
    assert not camera.working


def test_device_that_opencv_cannot_read(
    captures: list[StandInCapture], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(StandInCapture, "working", False)
    (tmp_path / "video0").touch()
    with pytest.raises(SourceError, match=r"0: OpenCV cannot read this device .*csi://0"):
        capture.open_webcam("0", SourceOptions(), devices=tmp_path)


@pytest.fixture
def jetson(tmp_path: Path) -> Path:
    (tmp_path / "proc/device-tree").mkdir(parents=True)
    (tmp_path / "proc/device-tree/model").write_bytes(b"NVIDIA Jetson Orin Nano Developer Kit\0")
    return tmp_path


def test_jetson_is_told_by_its_release_file_or_its_model(jetson: Path, tmp_path: Path) -> None:
    assert csi.is_jetson(jetson)
    (jetson / "proc/device-tree/model").write_bytes(b"Raspberry Pi 5 Model B Rev 1.0\0")
    assert not csi.is_jetson(jetson)
    (jetson / "etc").mkdir()
    (jetson / "etc/nv_tegra_release").touch()
    assert csi.is_jetson(jetson)


def test_jetson_camera_is_opened_through_gstreamer(
    captures: list[StandInCapture], monkeypatch: pytest.MonkeyPatch, jetson: Path
) -> None:
    monkeypatch.setattr(cv2.videoio_registry, "getBackends", lambda: [cv2.CAP_GSTREAMER])
    with csi.open_csi("csi://1", SourceOptions(size=(640, 480), fps=29.97), root=jetson) as source:
        assert source.read() is not None
    pipeline, backend = captures[0].arguments
    assert backend == cv2.CAP_GSTREAMER
    assert pipeline.startswith("nvarguscamerasrc sensor-id=1 ! ")
    assert "width=(int)640, height=(int)480, framerate=(fraction)2997/100 " in pipeline
    assert pipeline.endswith("format=(string)BGR ! appsink drop=true max-buffers=1 sync=false")


def test_jetson_errors(captures: list[StandInCapture], monkeypatch: pytest.MonkeyPatch, jetson: Path) -> None:
    monkeypatch.setattr(cv2.videoio_registry, "getBackends", lambda: [cv2.CAP_FFMPEG])
    with pytest.raises(SourceError, match="built without GStreamer"):
        csi.open_csi("csi://0", SourceOptions(), root=jetson)
    monkeypatch.setattr(cv2.videoio_registry, "getBackends", lambda: [cv2.CAP_GSTREAMER])
    monkeypatch.setattr(StandInCapture, "working", False)
    with pytest.raises(SourceError, match="csi://0: nvarguscamerasrc finds no such camera"):
        csi.open_csi("csi://0", SourceOptions(), root=jetson)


class StandInPicamera2:
    """A fake of picamera2: it refuses calls in the wrong order, like the real one."""

    cameras = 1
    log: list[object]
    fails_after: int | None = None

    def __init__(self, camera_num: int = 0) -> None:
        self.log.append(("open", camera_num))
        self._configuration: dict[str, Any] | None = None
        self._started = False
        self._captured = 0

    @staticmethod
    def global_camera_info() -> list[dict[str, Any]]:
        return [{"Model": "imx708", "Num": number} for number in range(StandInPicamera2.cameras)]

    def create_video_configuration(
        self,
        main: dict[str, Any],
        controls: dict[str, Any],
    ) -> dict[str, Any]:
        return {"main": main, "controls": controls}

    def configure(self, configuration: dict[str, Any]) -> None:
        self._configuration = configuration
        self.log.append(configuration)

    def start(self) -> None:
        assert self._configuration is not None
        self._started = True

    def capture_array(self, name: str = "main") -> np.ndarray:
        assert self._started
        assert self._configuration is not None
        time.sleep(0.001)
        self._captured += 1
        if self.fails_after is not None and self._captured > self.fails_after:
            raise RuntimeError("Camera frontend has timed out!")
        width, height = self._configuration[name]["size"]
        return np.full((height, width, 3), (1, 2, 3), np.uint8)

    def stop(self) -> None:
        self._started = False

    def close(self) -> None:
        assert not self._started
        self.log.append("close")


@pytest.fixture
def picamera2(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    log: list[object] = []
    monkeypatch.setattr(StandInPicamera2, "log", log, raising=False)
    monkeypatch.setitem(sys.modules, "picamera2", SimpleNamespace(Picamera2=StandInPicamera2))
    return log


def test_pi_camera_gives_opencv_order_at_the_asked_size_and_rate(
    picamera2: list[object], tmp_path: Path
) -> None:
    with csi.open_csi("csi://", SourceOptions(size=(320, 240), fps=24.5), root=tmp_path) as source:
        frame = source.read()
        assert source.fps == 24.5
    assert frame is not None
    assert frame.image.shape == (240, 320, 3)
    configuration = {"main": {"size": (320, 240), "format": "RGB888"}, "controls": {"FrameRate": 24.5}}
    assert picamera2 == [("open", 0), configuration, "close"]


@pytest.mark.slow
def test_pi_camera_that_fails_is_opened_again(
    picamera2: list[object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(StandInPicamera2, "fails_after", 3)
    with csi.open_csi("csi://0", SourceOptions(), root=tmp_path) as source:
        indices = [source.read().index for _ in range(2)]  # type: ignore[union-attr]
        until(lambda: source.reconnects == 1)
        monkeypatch.setattr(StandInPicamera2, "fails_after", None)
        while indices[-1] < 4:
            indices.append(source.read().index)  # type: ignore[union-attr]
    assert picamera2.count(("open", 0)) == picamera2.count("close") == 2


def test_pi_camera_errors(picamera2: list[object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="csi://3: no such camera; picamera2 finds 1"):
        csi.open_csi("csi://3", SourceOptions(), root=tmp_path)
    monkeypatch.setattr(StandInPicamera2, "start", lambda self: 1 / 0)
    with pytest.raises(SourceError, match="csi://0: the camera does not start: division by zero"):
        csi.open_csi("csi://0", SourceOptions(), root=tmp_path)
    monkeypatch.delitem(sys.modules, "picamera2")
    (tmp_path / "picamera2.py").write_text("raise ValueError('numpy.dtype size changed')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SourceError, match=r"there but cannot be loaded: numpy\.dtype size changed"):
        csi.open_csi("csi://0", SourceOptions(), root=tmp_path)
    monkeypatch.setitem(sys.modules, "picamera2", None)
    with pytest.raises(
        SourceError, match="OpenCV cannot open a camera module; on a Raspberry Pi, picamera2 is needed"
    ):
        csi.open_csi("csi://0", SourceOptions(), root=tmp_path)
