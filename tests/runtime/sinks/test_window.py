"""The window: its keys, and the error if there is no display."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator

import cv2
import numpy as np
import pytest
from fastcam_runtime.errors import SinkError
from fastcam_runtime.live.controls import Controls
from fastcam_runtime.sinks import Status, open_sink
from fastcam_runtime.sinks.window import Window, draws_windows, require_display

VIEWS = ("overlay", "map", "side")


class Screen:
    """OpenCV's window functions, with keys pressed by the test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.key = 255
        self.visible = 1.0
        self.shown: list[np.ndarray] = []
        self.click: Callable[..., None] = print
        monkeypatch.setenv("DISPLAY", "")
        monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
        monkeypatch.setattr(cv2, "currentUIFramework", lambda: "QT5", raising=False)
        for name in ("namedWindow", "resizeWindow", "destroyAllWindows"):
            monkeypatch.setattr(cv2, name, lambda *_: None)
        monkeypatch.setattr(cv2, "setMouseCallback", lambda _, react: setattr(self, "click", react))
        monkeypatch.setattr(cv2, "imshow", lambda _, picture: self.shown.append(picture))
        monkeypatch.setattr(cv2, "waitKey", lambda _: self.key)
        monkeypatch.setattr(cv2, "getWindowProperty", lambda *_: self.visible)


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    return Screen(monkeypatch)


def press(screen: Screen, key: str) -> Controls:
    controls = Controls(VIEWS)
    screen.key = ord(key)
    with open_sink("display://", fps=25, controls=controls) as sink:
        assert sink.interactive
        sink.write(np.zeros((4, 4, 3), np.uint8), Status(0))
    return controls


def test_keys(screen: Screen) -> None:
    assert press(screen, "q").stop.is_set()
    assert press(screen, "\x1b").stop.is_set()
    assert press(screen, " ").paused
    assert press(screen, "s").take_snapshot_request()
    assert press(screen, "3").view == "side"
    for other in ("4", "0", "x", "\xff"):
        controls = press(screen, other)
        assert (controls.view, controls.paused, controls.stop.is_set()) == ("overlay", False, False)
    assert len(screen.shown) == 9


def test_a_click_chooses_the_point_of_the_frame(screen: Screen) -> None:
    controls = Controls(VIEWS, has_boxes=True)
    frame = np.zeros((40, 60, 3), np.uint8)
    with open_sink("display://", fps=25, controls=controls) as sink:
        sink.write(np.zeros((50, 120, 3), np.uint8), Status(0, view="side", image=frame))
        screen.click(cv2.EVENT_LBUTTONDOWN, 75, 12, 0, None)
        assert controls.choice.box == (15, 12)
        screen.click(cv2.EVENT_MOUSEMOVE, 5, 5, 0, None)
        assert controls.choice.box == (15, 12)
        screen.click(cv2.EVENT_LBUTTONDOWN, 75, 45, 0, None)  # the caption
        assert controls.choice.box is None
    plain = Controls(VIEWS)
    with open_sink("display://", fps=25, controls=plain) as sink:
        sink.write(frame, Status(0, view="overlay", image=frame))
        screen.click(cv2.EVENT_LBUTTONDOWN, 5, 5, 0, None)
    assert plain.choice.box is None


def test_keys_while_the_picture_stays(screen: Screen) -> None:
    controls = Controls(VIEWS)
    with open_sink("display://", fps=25, controls=controls) as sink:
        sink.write(np.zeros((4, 4, 3), np.uint8), Status(0))
        screen.key = ord(" ")
        sink.refresh()
    assert controls.paused
    assert len(screen.shown) == 1


def test_closing_the_window_ends_the_loop(screen: Screen) -> None:
    screen.visible = 0.0
    assert press(screen, "\xff").stop.is_set()


def test_headless_opencv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cv2, "currentUIFramework", lambda: "", raising=False)
    with pytest.raises(SinkError, match="built without windows"):
        Window(Controls(VIEWS))


@pytest.mark.parametrize(("toolkit", "windows"), [("NONE", False), ("QT5", True), ("GTK2", True)])
def test_an_opencv_that_does_not_tell_its_toolkit(
    toolkit: str, windows: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before 4.10; the lines are those of the wheels of 4.8."""
    monkeypatch.delattr(cv2, "currentUIFramework", raising=False)
    told = f"  GUI:                           {toolkit}\n    VTK support:                 NO\n"
    monkeypatch.setattr(cv2, "getBuildInformation", lambda: told)
    assert draws_windows() == windows


@pytest.mark.parametrize(
    ("environment", "text"),
    [
        ({}, "DISPLAY is not set"),
        ({"DISPLAY": ":987"}, "no display answers at :987"),
        ({"DISPLAY": "127.0.0.1:60000.0"}, "no display answers at 127.0.0.1:60000.0"),
        ({"DISPLAY": "nonsense"}, "'nonsense', which names no display"),
    ],
)
def test_no_display(environment: dict[str, str], text: str) -> None:
    with pytest.raises(SinkError, match=text):
        require_display(environment)


@pytest.fixture
def x_server() -> Iterator[str]:
    if shutil.which("Xvfb") is None:
        pytest.skip("no Xvfb to show a window on")
    read, write = os.pipe()
    server = subprocess.Popen(["Xvfb", "-displayfd", str(write)], pass_fds=[write], stderr=subprocess.DEVNULL)
    os.close(write)
    with os.fdopen(read) as answer:
        yield ":" + answer.readline().strip()
    server.terminate()
    server.wait(20)


SHOW = """
import cv2
import numpy as np
from fastcam_runtime.live.controls import Controls
from fastcam_runtime.sinks import Status, open_sink
controls = Controls(("overlay",))
with open_sink("display://", fps=25, controls=controls) as sink:
    for number in range(20):
        sink.write(np.full((300, 400, 3), 10 * number, np.uint8), Status(number))
    print(*cv2.getWindowImageRect("fastcam")[2:])
print(controls.stop.is_set())
"""


@pytest.mark.slow
def test_real_window(x_server: str) -> None:
    environment = {**os.environ, "DISPLAY": x_server}
    done = subprocess.run(
        [sys.executable, "-c", SHOW], env=environment, capture_output=True, text=True, timeout=60
    )
    # the picture at its own size: no toolbar takes part of the window
    assert (done.returncode, done.stdout) == (0, "400 300\nFalse\n"), done.stderr
