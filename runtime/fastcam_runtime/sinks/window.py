"""`display://`: a window, and the keys pressed in it."""

from __future__ import annotations

import os
import re
import socket
import sys
from collections.abc import Mapping
from typing import ClassVar

import cv2

from ..draw.views import frame_point
from ..errors import SinkError
from ..image import Image
from ..live.controls import Controls
from .base import Sink, SinkKind, Status

TITLE = "fastcam"
_ESCAPE = 27
_LARGEST = (1280, 800)
_ADVICE = "use http://:8000 for a page in the browser, or out.mp4"


class Window(Sink):
    """A window. Keys: `q` or Escape stops, space pauses, `1`…`9` choose the view, `s` takes a snapshot.

    A click on a box of a detector explains that one.

    Closing the window also stops the loop.

    Raises:
        SinkError: This OpenCV has no windows, or there is no display.
    """

    interactive: ClassVar[bool] = True
    stop_hint: ClassVar[str] = "q in its window"

    def __init__(self, controls: Controls) -> None:
        if not draws_windows():
            raise SinkError(f"display://: this OpenCV was built without windows (headless); {_ADVICE}")
        if sys.platform == "linux":
            require_display(os.environ)
        # The Qt inside OpenCV's wheels has no fonts; it needs none here, but warns about it many times.
        os.environ.setdefault("QT_LOGGING_RULES", "*.warning=false")
        self._controls = controls
        self._shown = False
        self._status: Status | None = None
        self._size = (0, 0)

    def write(self, picture: Image, status: Status) -> None:
        if not self._shown:
            self._show(picture)
        self._status, self._size = status, (picture.shape[1], picture.shape[0])
        cv2.imshow(TITLE, picture)
        self.refresh()

    def refresh(self) -> None:
        # `waitKey` also gives the window the time to draw itself.
        self.press(cv2.waitKey(1) & 0xFF)
        if cv2.getWindowProperty(TITLE, cv2.WND_PROP_VISIBLE) < 1:
            self._controls.request_stop()

    def click(self, event: int, x: int, y: int) -> None:
        """Handle a mouse event at a pixel of the picture: a click on a box explains it."""
        if event != cv2.EVENT_LBUTTONDOWN or self._status is None or not self._controls.has_boxes:
            return
        frame = self._status.image
        if frame is not None:
            size = frame.shape[1], frame.shape[0]
            self._controls.set_box(frame_point(self._status.view, self._size, size, x, y))

    def press(self, key: int) -> None:
        """Handle a key, given as its character code."""
        views = self._controls.views
        if key in (ord("q"), _ESCAPE):
            self._controls.request_stop()
        elif key == ord(" "):
            self._controls.toggle_paused()
        elif key == ord("s"):
            self._controls.request_snapshot()
        elif ord("1") <= key <= ord("9") and key - ord("1") < len(views):
            self._controls.set_view(views[key - ord("1")])

    def close(self) -> None:
        if self._shown:
            self._shown = False
            cv2.destroyAllWindows()

    def _show(self, picture: Image) -> None:
        height, width = picture.shape[:2]
        scale = min(1.0, _LARGEST[0] / width, _LARGEST[1] / height)
        # Without GUI_NORMAL, Qt adds a toolbar and a status bar, and the picture shrinks to fit.
        cv2.namedWindow(TITLE, cv2.WINDOW_NORMAL | cv2.WINDOW_KEEPRATIO | cv2.WINDOW_GUI_NORMAL)
        cv2.resizeWindow(TITLE, max(1, round(width * scale)), max(1, round(height * scale)))
        cv2.setMouseCallback(TITLE, lambda event, x, y, *_: self.click(event, x, y))
        self._shown = True


WINDOW = SinkKind(
    {"display://": "a window"},
    lambda uri, options: Window(options.controls),
    ("display",),
    matches="display://".__eq__,
    interactive=True,
)


def draws_windows() -> bool:
    """Whether this OpenCV was built with a GUI toolkit."""
    if hasattr(cv2, "currentUIFramework"):
        return bool(cv2.currentUIFramework())
    return not re.search(r"GUI: +NONE", cv2.getBuildInformation())  # before OpenCV 4.10


def require_display(environment: Mapping[str, str]) -> None:
    """Raise `SinkError` if no X server answers: OpenCV's GUI toolkit would abort the process."""
    name = environment.get("DISPLAY", "")
    if not name:
        if environment.get("WAYLAND_DISPLAY"):
            return
        raise SinkError(f"display://: there is no display (DISPLAY is not set); {_ADVICE}")
    host, _, number = name.rpartition(":")
    number = number.partition(".")[0]
    if not number.isdecimal():
        raise SinkError(f"display://: DISPLAY is {name!r}, which names no display; {_ADVICE}")
    try:
        if host in ("", "unix"):
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
                probe.connect(f"/tmp/.X11-unix/X{number}")
        else:
            socket.create_connection((host, 6000 + int(number)), timeout=3).close()
    except (OSError, OverflowError) as error:
        raise SinkError(f"display://: no display answers at {name}; {_ADVICE}") from error
