"""Does the loop survive a lost camera? `python -m benchmarks.endurance.rtsp_cuts [--cuts N] [--json FILE]`.

A real RTSP server (GStreamer's, `rtsp_server.py`) is killed and started again while the whole loop reads its
stream; every 20th time it is frozen instead, until the loop gives it up. The recovery time runs from the
moment when the server answers again to the next picture of the reopened stream. The limits: 10 seconds for 99
% of the recoveries, less than 5 MB of memory growth after the first 20 cuts, and no more open files than
before. The figures so far are written to the file of `--json` after every cut.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from fastcam_runtime import Explainer
from fastcam_runtime.cli.output_paths import write_json
from fastcam_runtime.image import Image
from fastcam_runtime.live.controls import Controls
from fastcam_runtime.live.loop import Loop
from fastcam_runtime.measure import system
from fastcam_runtime.sinks import Sink, Status
from fastcam_runtime.sources import Source, open_source

from ..inputs.small_network import small_graft

SERVER = Path(__file__).with_name("rtsp_server.py")
WARM_UP = 20
SLOWEST = 10.0
GROWTH = 5_000_000
FREEZE_EVERY = 20
_GIVE_UP = 180.0
"""Seconds without a picture after which the loop counts as dead: the longest wait between two tries is 72."""


def find_python() -> str | None:
    """A Python that has GStreamer's RTSP server; None if there is none."""
    probe = "import gi; gi.require_version('GstRtspServer', '1.0'); from gi.repository import GstRtspServer"
    for python in (sys.executable, "/usr/bin/python3", shutil.which("python3")):
        if python and subprocess.run([python, "-c", probe], capture_output=True).returncode == 0:
            return python
    return None


def free_port() -> int:
    """A free port of this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class RtspServer:
    """The server as a process, with the next process already started, so that a restart takes no time.

    Args:
        python: The Python that runs it.
        port: Where it listens.
    """

    def __init__(self, python: str, port: int) -> None:
        self._command = [python, str(SERVER), str(port)]
        self.uri = f"rtsp://127.0.0.1:{port}/live"
        self._next = self._prepare()
        self._running = self._next
        self.start()

    def start(self) -> None:
        """Start to serve; returns when the server listens."""
        self._running = self._next
        assert self._running.stdin is not None
        _expect(self._running, "waiting")
        self._running.stdin.write("go\n")
        self._running.stdin.flush()
        _expect(self._running, "ready")
        self._next = self._prepare()

    def kill(self) -> None:
        """Kill it, like a power cut."""
        self._running.kill()
        self._running.communicate()

    def freeze(self) -> None:
        """Suspend it, with its connections open."""
        self._running.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Resume it."""
        self._running.send_signal(signal.SIGCONT)

    def close(self) -> None:
        """End all processes."""
        for process in {self._running, self._next}:
            process.kill()
            process.communicate()

    def _prepare(self) -> subprocess.Popen[str]:
        return subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _expect(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdout is not None
    said = process.stdout.readline().strip()
    if said != word:
        raise RuntimeError(f"the RTSP server said {said!r}, not {word!r}")


class Arrivals(Sink):
    """Notes when the latest picture came."""

    def __init__(self) -> None:
        self.pictures = 0
        self._changed = threading.Condition()
        self._latest = 0.0

    def write(self, picture: Image, status: Status) -> None:
        with self._changed:
            self.pictures += 1
            self._latest = time.monotonic()
            self._changed.notify_all()

    def wait_after(self, moment: float) -> float | None:
        """When the first picture after `moment` came; None if none came for a long time."""
        with self._changed:
            self._changed.wait_for(lambda: self._latest > moment, _GIVE_UP)
            return self._latest if self._latest > moment else None


@dataclass(frozen=True)
class Cut:
    """One cut, and the process after it."""

    kind: str
    recovery: float
    """Seconds from the server's answer to the next picture."""
    rss: int
    files: int
    threads: int


def cut_and_wait(server: RtspServer, source: Source, arrivals: Arrivals, *, freeze: bool) -> Cut | None:
    """Cut the stream once, and wait for pictures; None if none came."""
    before = source.reconnects
    if freeze:
        server.freeze()
        time.sleep(random.uniform(6.0, 9.0))  # the stream is given up after 5 seconds
        back = time.monotonic()
        server.thaw()
    else:
        server.kill()
        time.sleep(random.uniform(0.0, 0.5))
        server.start()
        back = time.monotonic()
    came = arrivals.wait_after(back)
    # Buffered pictures of the old connection do not count.
    while came is not None and source.reconnects == before and came - back < _GIVE_UP:
        came = arrivals.wait_after(came)
    if came is None or source.reconnects == before:
        return None
    kind = "freeze" if freeze else "kill"
    files = len(os.listdir("/proc/self/fd"))
    return Cut(kind, came - back, system.rss_bytes(), files, threading.active_count())


def figures(cuts: Sequence[Cut]) -> dict[str, object]:
    """The figures of the cuts so far."""
    times = np.array([cut.recovery for cut in cuts])
    settled = cuts[WARM_UP:] or cuts[-1:]
    return {
        "cuts": len(cuts),
        "frozen": sum(cut.kind == "freeze" for cut in cuts),
        "recovery_seconds": {f"p{q}": round(float(np.percentile(times, q)), 2) for q in (50, 90, 99, 100)},
        "rss_growth_bytes": max(cut.rss for cut in settled) - settled[0].rss,
        "open_files": [min(cut.files for cut in settled), max(cut.files for cut in settled)],
        "threads": [min(cut.threads for cut in settled), max(cut.threads for cut in settled)],
    }


def run_cuts(python: str, count: int, report: Path | None = None) -> list[Cut]:
    """Run the loop and cut its stream `count` times; fewer cuts are returned if it died.

    Args:
        python: A Python with GStreamer's RTSP server.
        count: How many cuts.
        report: Where to write the figures so far.
    """
    cuts: list[Cut] = []
    with tempfile.TemporaryDirectory() as folder:
        explainer = Explainer(small_graft(Path(folder) / "grafted.onnx"), threads=1)
        server = RtspServer(python, free_port())
        arrivals, controls = Arrivals(), Controls(("overlay",))

        def cut_all() -> None:
            try:
                arrivals.wait_after(0.0)
                for number in range(count):
                    freeze = number % FREEZE_EVERY == FREEZE_EVERY - 1
                    cut = cut_and_wait(server, source, arrivals, freeze=freeze)
                    if cut is None:
                        return
                    cuts.append(cut)
                    if report is not None:
                        write_json(report, {**figures(cuts), "pictures": arrivals.pictures})
            finally:
                controls.request_stop()

        try:
            source = open_source(server.uri)
            cutter = threading.Thread(target=cut_all, daemon=True)
            cutter.start()
            Loop(explainer, source, [arrivals], controls).run()
            cutter.join(_GIVE_UP)
        finally:
            server.close()
    return cuts


def main() -> int:
    """Cut the stream; exit code 1 if a limit is broken."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cuts", type=int, default=1000)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    python = find_python()
    if python is None:
        print(
            "no Python with GStreamer's RTSP server here; rtsp_server.py names the packages", file=sys.stderr
        )
        return 2
    cuts = run_cuts(python, args.cuts, args.json)
    told = figures(cuts) if cuts else {"cuts": 0}
    print(told)
    settled = cuts[WARM_UP:]
    broken = [
        f"the loop died after {len(cuts)} cuts" if len(cuts) < args.cuts else "",
        "recoveries are slow" if np.percentile([cut.recovery for cut in cuts], 99) > SLOWEST else "",
        "memory grew" if settled and max(c.rss for c in settled) - settled[0].rss >= GROWTH else "",
        "open files grew" if settled and settled[-1].files > settled[0].files else "",
    ]
    print("; ".join(filter(None, broken)) or "all limits hold")
    return int(any(broken))


if __name__ == "__main__":
    raise SystemExit(main())
