"""A real headless Chromium, driven through its DevTools pipe: nothing else to install."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--mute-audio",
    "--remote-debugging-pipe",
)

TAKE_PIPES = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
for descriptor, end in zip((3, 4), ends):
    os.dup2(end, descriptor)
    os.close(end)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Moves two pipes to descriptors 3 and 4, where the browser expects them, and execs the browser."""


def find_chromium() -> str | None:
    """The path of the browser, or None if there is none."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((path for path in map(shutil.which, names) if path), None)


class Chromium:
    """One browser process with its own profile; it reads commands from descriptor 3 and answers on 4."""

    def __init__(self, profile: Path, *flags: str) -> None:
        path = find_chromium()
        assert path is not None
        self.events: list[dict[str, Any]] = []
        """The events of the enabled DevTools domains."""
        commands_in, commands = os.pipe()
        answers, answers_out = os.pipe()
        command = [path, *FLAGS, *flags, f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", TAKE_PIPES, str(commands_in), str(answers_out), *command],
            pass_fds=(commands_in, answers_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands_in)
        os.close(answers_out)
        self._commands = os.fdopen(commands, "wb", buffering=0)
        self._answers = os.fdopen(answers, "rb", buffering=0)
        self._received = b""
        self._number = 0

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Run one DevTools command and wait for its answer; events in between are kept in `events`."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        self._commands.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return dict(answer["result"])
            self.events.append(answer)

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._received:
            piece = self._answers.read(1 << 20)
            assert piece, "the browser has ended"
            self._received += piece
        message, _, self._received = self._received.partition(b"\0")
        return dict(json.loads(message))

    def open(self, url: str, size: tuple[int, int] = (1280, 800)) -> Tab:
        """A tab in its own window, so that it counts as visible."""
        target = self.call("Target.createTarget", url="about:blank", newWindow=True)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = Tab(self, session)
        tab.resize(*size)
        self.call("Network.enable", session)
        self.call("Page.navigate", session, url=url)
        return tab

    def close(self) -> None:
        self._commands.close()
        self._answers.close()
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Tab:
    """One page in the browser."""

    def __init__(self, browser: Chromium, session: str) -> None:
        self._browser = browser
        self._session = session

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Run one DevTools command for this page."""
        return self._browser.call(method, self._session, **parameters)

    def resize(self, width: int, height: int, mobile: bool = False) -> None:
        self._browser.call(
            "Emulation.setDeviceMetricsOverride",
            self._session,
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=mobile,
        )

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression; a promise is awaited."""
        answer = self._browser.call(
            "Runtime.evaluate", self._session, expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, expression: str, seconds: float = 20) -> None:
        """Return as soon as an expression is true."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.evaluate(f"Boolean({expression})"):
                return
            time.sleep(0.05)
        raise AssertionError(
            f"never true: {expression}; the page says {self.evaluate('document.body.innerText')!r}"
        )

    def click(self, expression: str) -> None:
        """Click with the mouse on the middle of an element."""
        x, y = self.evaluate(
            f"(() => {{ const e = {expression}; e.scrollIntoView({{block: 'center'}}); "
            "const box = e.getBoundingClientRect(); "
            "return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self._browser.call(
                "Input.dispatchMouseEvent", self._session, type=kind, x=x, y=y, button="left", clickCount=1
            )

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        self._browser.call("Input.insertText", self._session, text=text)

    def press(self, key: str, code: int, text: str = "") -> None:
        """Press and release a key, e.g. `ArrowDown` of code 40."""
        for kind in ("keyDown", "keyUp"):
            self._browser.call(
                "Input.dispatchKeyEvent",
                self._session,
                type=kind,
                key=key,
                text=text,
                windowsVirtualKeyCode=code,
            )

    def press_enter(self) -> None:
        self.press("Enter", 13, "\r")
