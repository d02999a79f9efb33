"""Live sources: a real stream over HTTP, cut and restarted; cameras through stand-ins of their libraries."""

from __future__ import annotations

import http.server
import itertools
import logging
import socketserver
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest
from fastcam_runtime.cli import main
from fastcam_runtime.errors import SourceError
from fastcam_runtime.sources import SourceOptions, capture, csi, open_source
from fastcam_runtime.sources.live import LiveSource
from tiny_grafts import save_graft


class Broadcast:
    """A real MJPEG server on loopback that can be cut, in the middle of a picture, and started again."""

    def __init__(self) -> None:
        self.gray = 0
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
        jpeg = cv2.imencode(".jpg", np.full((48, 64, 3), self.gray, np.uint8))[1].tobytes()
        part = b"--b\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n" % len(jpeg) + jpeg + b"\r\n"
        try:
            while not self._cut.wait(0.01):
                if not self.stalled.is_set():
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


@pytest.fixture
def broadcast() -> Iterator[Broadcast]:
    server = Broadcast()
    server.start(gray=50)
    yield server
    server.cut()


def read_until(source: Any, gray: int) -> int:
    """Read on until a picture of this brightness comes; returns its index."""
    for frame in iter(source.read, None):
        if abs(float(frame.image.mean()) - gray) < 3:
            return int(frame.index)
    raise AssertionError("the source ended")


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


def test_a_stream_that_takes_no_orders_is_brought_to_the_rate(broadcast: Broadcast) -> None:
    with open_source(broadcast.uri, fps=10) as source:  # pictures come a hundred times a second
        times = [frame.time for frame in itertools.islice(iter(source.read, None), 6)]
    assert source.fps == 10
    assert times[-1] - times[0] > 0.3


def test_silent_stream_is_given_up_and_found_again(
    broadcast: Broadcast, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    quick = [cv2.CAP_PROP_OPEN_TIMEOUT_MSEC, 500, cv2.CAP_PROP_READ_TIMEOUT_MSEC, 500]
    monkeypatch.setattr(capture, "_STREAM_TIMEOUTS", quick)
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
    with pytest.raises(SourceError, match=r"rtsp://user@127\.0\.0\.1:9/a: nothing answers") as caught:
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


class Scripted:
    """A camera that gives numbered pictures when told to."""

    fps = 30.0

    def __init__(self, pictures: int) -> None:
        self._left = pictures
        self.step = threading.Semaphore(0)
        self.released = threading.Event()

    def grab(self) -> np.ndarray | None:
        self.step.acquire()
        self._left -= 1
        return np.zeros((4, 6, 3), np.uint8) if self._left >= 0 else None

    def release(self) -> None:
        self.released.set()


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


def test_only_the_newest_frame_is_kept_and_the_others_counted() -> None:
    camera = Scripted(10)
    source = LiveSource("camera", lambda: camera, SourceOptions())
    for _ in range(5):
        camera.step.release()
    until(lambda: source.dropped == 4)
    frame = source.read()
    assert frame is not None
    assert frame.index == 4
    camera.step.release()
    frame = source.read()
    assert frame is not None
    assert (frame.index, source.dropped) == (5, 4)
    camera.step.release()
    source.close()
    assert camera.released.is_set()
    assert source.read() is None


def test_tries_to_find_a_lost_camera_grow_rare(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    first, again = Scripted(1), Scripted(1)
    answers: list[Any] = [first, *[SourceError("not there")] * 9, again]

    def connect() -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    source = LiveSource("camera", connect, SourceOptions())
    monkeypatch.setattr(source._closed, "wait", lambda seconds: waits.append(seconds) or False)
    for camera in (first, again):
        camera.step.release()
    assert source.read() is not None
    first.step.release()
    frame = source.read()
    assert frame is not None
    assert frame.index == 1
    assert source.reconnects == 1
    assert waits == [0.5, 1, 2, 4, 8, 16, 30, 30, 30, 30]
    source._closed.set()
    again.step.release()
    source.close()


def test_a_camera_that_hangs_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop closes its source, and so does whoever opened it."""
    camera = Scripted(1)
    source = LiveSource("camera", lambda: camera, SourceOptions())
    waits: list[float] = []
    monkeypatch.setattr(source._thread, "join", waits.append)
    source.close()
    source.close()
    assert len(waits) == 1
    camera.step.release()


def test_failure_of_the_reader_thread_reaches_the_reader() -> None:
    camera = Scripted(1)
    camera.grab = lambda: np.zeros((0, 0, 3), np.uint8)  # type: ignore[method-assign]
    source = LiveSource("camera", lambda: camera, SourceOptions(size=(8, 8)))
    with pytest.raises(SourceError, match="camera: cannot go on"):
        source.read()
    source.close()


def test_webcam_that_is_not_there_names_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="7: no such camera; there is none"):
        capture.open_webcam("7", SourceOptions(), devices=tmp_path)
    (tmp_path / "video0").touch()
    with pytest.raises(SourceError, match=f"/dev/video7: no such camera; there is {tmp_path}/video0"):
        capture.open_webcam("/dev/video7", SourceOptions(), devices=tmp_path)


class StandInCapture:
    """`cv2.VideoCapture` of a camera that keeps what it was asked for."""

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
    with csi.open_csi("1", SourceOptions(size=(640, 480), fps=29.97), root=jetson) as source:
        assert source.read() is not None
    pipeline, backend = captures[0].arguments
    assert backend == cv2.CAP_GSTREAMER
    assert pipeline.startswith("nvarguscamerasrc sensor-id=1 ! ")
    assert "width=(int)640, height=(int)480, framerate=(fraction)2997/100 " in pipeline
    assert pipeline.endswith("format=(string)BGR ! appsink drop=true max-buffers=1 sync=false")


def test_jetson_errors(captures: list[StandInCapture], monkeypatch: pytest.MonkeyPatch, jetson: Path) -> None:
    monkeypatch.setattr(cv2.videoio_registry, "getBackends", lambda: [cv2.CAP_FFMPEG])
    with pytest.raises(SourceError, match="built without GStreamer"):
        csi.open_csi("0", SourceOptions(), root=jetson)
    monkeypatch.setattr(cv2.videoio_registry, "getBackends", lambda: [cv2.CAP_GSTREAMER])
    monkeypatch.setattr(StandInCapture, "working", False)
    with pytest.raises(SourceError, match="csi://0: nvarguscamerasrc finds no such camera"):
        csi.open_csi("0", SourceOptions(), root=jetson)


class StandInPicamera2:
    """picamera2 as far as it is used: it refuses calls in the wrong order, as the real one does."""

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
    with csi.open_csi("", SourceOptions(size=(320, 240), fps=24.5), root=tmp_path) as source:
        frame = source.read()
        assert source.fps == 24.5
    assert frame is not None
    assert frame.image.shape == (240, 320, 3)
    configuration = {"main": {"size": (320, 240), "format": "RGB888"}, "controls": {"FrameRate": 24.5}}
    assert picamera2 == [("open", 0), configuration, "close"]


def test_pi_camera_that_fails_is_opened_again(
    picamera2: list[object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(StandInPicamera2, "fails_after", 3)
    with csi.open_csi("0", SourceOptions(), root=tmp_path) as source:
        indices = [source.read().index for _ in range(2)]  # type: ignore[union-attr]
        until(lambda: source.reconnects == 1)
        monkeypatch.setattr(StandInPicamera2, "fails_after", None)
        while indices[-1] < 4:
            indices.append(source.read().index)  # type: ignore[union-attr]
    assert picamera2.count(("open", 0)) == picamera2.count("close") == 2


def test_pi_camera_errors(picamera2: list[object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="csi://3: no such camera; picamera2 finds 1"):
        csi.open_csi("3", SourceOptions(), root=tmp_path)
    monkeypatch.setattr(StandInPicamera2, "start", lambda self: 1 / 0)
    with pytest.raises(SourceError, match="csi://0: the camera refuses to start: division by zero"):
        csi.open_csi("0", SourceOptions(), root=tmp_path)
    monkeypatch.delitem(sys.modules, "picamera2")
    (tmp_path / "picamera2.py").write_text("raise ValueError('numpy.dtype size changed')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SourceError, match=r"there but cannot be loaded: numpy\.dtype size changed"):
        csi.open_csi("0", SourceOptions(), root=tmp_path)
    monkeypatch.setitem(sys.modules, "picamera2", None)
    with pytest.raises(
        SourceError, match="OpenCV cannot open a camera module; on a Raspberry Pi it takes picamera2"
    ):
        csi.open_csi("0", SourceOptions(), root=tmp_path)
