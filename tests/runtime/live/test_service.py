"""What systemd is told, received on real sockets."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fastcam_runtime import Explainer
from fastcam_runtime.live.metrics import LoopMetrics
from fastcam_runtime.live.service import Service
from support.looping import Counting, Recorder, make_loop
from support.processes import fastcam
from support.tiny_grafts import save_graft

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="no sockets of this kind")


@contextmanager
def systemd(address: str) -> Iterator[socket.socket]:
    """The socket of systemd."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(address.replace("@", "\0"))
        receiver.settimeout(20)
        yield receiver


def receive_until(receiver: socket.socket, line: str) -> list[str]:
    """The lines up to one that begins so."""
    lines: list[str] = []
    while not any(told.startswith(line) for told in lines):
        lines += receiver.recv(4096).decode().split("\n")
    return lines


def counted() -> LoopMetrics:
    metrics = LoopMetrics()
    metrics.add({"inference": 1.0}, end_to_end=2.0)
    return metrics


@pytest.fixture(params=["path", "abstract"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "notify") if request.param == "path" else f"@fastcam-test-{os.getpid()}"


def test_ready_watchdog_status_and_stopping(address: str) -> None:
    environment = {"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "60000", "WATCHDOG_PID": str(os.getpid())}
    with systemd(address) as receiver:
        metrics = LoopMetrics()
        with Service(metrics, lambda: 0.0, environment):
            lines = receive_until(receiver, "WATCHDOG=1")
            assert "READY=1" not in lines  # no picture yet
            assert "STATUS=no frame yet" in lines
            metrics.add({"inference": 1.0}, end_to_end=2.0)
            lines = receive_until(receiver, "READY=1")
            lines += receive_until(receiver, "WATCHDOG=1")
        lines = receive_until(receiver, "STOPPING=1")
        assert lines[-1] == "STATUS=0.0 fps, 1 frames, 0 dropped, 0 reconnects; stopping"


def test_a_loop_that_is_stuck_gives_no_sign_of_life(tmp_path: Path) -> None:
    address = str(tmp_path / "notify")
    environment = {"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "30000"}
    with systemd(address) as receiver:
        with Service(counted(), lambda: 0.5, environment):
            receive_until(receiver, "READY=1")
            time.sleep(0.2)
        assert "WATCHDOG=1" not in receive_until(receiver, "STOPPING=1")


@pytest.mark.slow
@pytest.mark.parametrize("other", [{"WATCHDOG_PID": "1"}, {"WATCHDOG_USEC": "soon"}, {}])
def test_no_watchdog_for_others(tmp_path: Path, other: dict[str, str]) -> None:
    address = str(tmp_path / "notify")
    usec = {"WATCHDOG_USEC": "1000000"} if "WATCHDOG_PID" in other else {}
    with (
        systemd(address) as receiver,
        Service(counted(), lambda: 0.0, {"NOTIFY_SOCKET": address, **usec, **other}),
    ):
        assert "WATCHDOG=1" not in receive_until(receiver, "READY=1")


def test_without_systemd_nothing_happens(tmp_path: Path) -> None:
    with Service(counted(), lambda: 0.0, {}) as service:
        assert not service._thread.is_alive()
    with Service(counted(), lambda: 0.0, {"NOTIFY_SOCKET": str(tmp_path / "gone")}):
        time.sleep(0.01)


def test_a_loop_knows_how_long_it_is_stuck(explainer: Explainer) -> None:
    seen = []

    def react(sink: Recorder) -> None:
        time.sleep(0.1)
        seen.append(loop.stuck_seconds)

    loop = make_loop(explainer, Counting([10, 20]), Recorder(react))
    loop.run()
    assert all(seconds >= 0.1 for seconds in seen)
    assert len(seen) == 2


@pytest.mark.slow
def test_fastcam_run_tells_systemd(tmp_path: Path) -> None:
    graft, address = save_graft(tmp_path / "graft.onnx"), str(tmp_path / "notify")
    environment = {"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "3000000"}
    options = ["--loop", "--threads", "1"]
    with (
        systemd(address) as receiver,
        fastcam("run", graft, "test://", "null://", *options, environment=environment) as process,
    ):
        assert "READY=1" in receive_until(receiver, "READY=1")
        receive_until(receiver, "WATCHDOG=1")
        process.send_signal(signal.SIGTERM)
        assert any("fps" in line for line in receive_until(receiver, "STOPPING=1"))
        process.communicate(timeout=20)
        assert process.returncode == 0
