"""Tells systemd that the service is up, what it does, and that it is alive (`sd_notify`).

systemd gives a service with `Type=notify` the path of a socket in NOTIFY_SOCKET; a name that begins with `@`
is abstract. With `WatchdogSec` it expects a watchdog message within WATCHDOG_USEC, and restarts the service
otherwise.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from .metrics import LoopMetrics

_SIGNS = 3
"""Signs of life per watchdog period."""
_STATUS_SECONDS = 10.0


class Service:
    """Sends messages to systemd from its own thread, until it is closed. Does nothing without systemd.

    `READY=1` is sent with the first picture. A watchdog message is sent only while the loop is not stuck, so
    that systemd restarts a stuck loop. `stuck_seconds` returns how long the loop has been at the same step.
    """

    def __init__(
        self,
        metrics: LoopMetrics,
        stuck_seconds: Callable[[], float],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        environment = os.environ if environment is None else environment
        self._metrics = metrics
        self._stuck_seconds = stuck_seconds
        self._address = environment.get("NOTIFY_SOCKET", "")
        self._watchdog = _watchdog_seconds(environment)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="fastcam service", daemon=True)
        if self._address:
            self._thread.start()

    def close(self) -> None:
        """Tell that the service stops, and end the thread. Calling it again is a no-op."""
        if self._address and not self._closed.is_set():
            self._closed.set()
            self._thread.join()
            self._send(f"STOPPING=1\nSTATUS={_describe(self._metrics)}; stopping")

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        ready, told = False, float("-inf")
        pause = min(1.0, self._watchdog / _SIGNS if self._watchdog else 1.0)
        while not self._closed.wait(pause):
            lines = []
            if not ready and self._metrics.frames:
                ready = True
                lines.append("READY=1")
            if self._stuck_seconds() < self._watchdog / 2:
                lines.append("WATCHDOG=1")
            now = time.monotonic()
            if lines[:1] == ["READY=1"] or now - told >= _STATUS_SECONDS:
                told = now
                lines.append(f"STATUS={_describe(self._metrics)}")
            if lines:
                self._send("\n".join(lines))

    def _send(self, message: str) -> None:
        address = f"\0{self._address[1:]}" if self._address.startswith("@") else self._address
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
            channel.settimeout(1.0)
            channel.connect(address)
            channel.sendall(message.encode())


def _watchdog_seconds(environment: Mapping[str, str]) -> float:
    """The time in which systemd expects a watchdog message; 0 if it expects none from this process."""
    if environment.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return 0.0
    microseconds = environment.get("WATCHDOG_USEC", "")
    return int(microseconds) / 1e6 if microseconds.isdecimal() else 0.0


def _describe(metrics: LoopMetrics) -> str:
    """One line for `systemctl status`."""
    if not metrics.frames:
        return "no frame yet"
    silent = metrics.silent_seconds
    now = f"no frame for {silent} s" if silent else f"{metrics.recent_fps or 0.0:.1f} fps"
    return f"{now}, {metrics.frames} frames, {metrics.dropped} dropped, {metrics.reconnects} reconnects"
