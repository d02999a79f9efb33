"""Does the live page keep memory? `python -m benchmarks.endurance.page_soak [--hours H] [--json FILE]`.

The whole loop with a live page, and viewers in another process that come and go as fast as they can. An
hour's worth is 360 visits, one in ten seconds: a visitor loads the page, watches some pictures, asks for the
status as often as the page does in ten seconds, changes the view, takes a snapshot and leaves, every third
one in the middle of a picture. In between come wrong tokens, malformed requests and connections that say
nothing.
After the first tenth, memory may grow by less than 5 MB, and open files by none.
The figures so far are written to the file of `--json`.
"""

from __future__ import annotations

import argparse
import http.client
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from fastcam_runtime import Explainer
from fastcam_runtime.cli.output_paths import write_json
from fastcam_runtime.draw.views import available_views
from fastcam_runtime.live.controls import Controls
from fastcam_runtime.live.loop import Loop
from fastcam_runtime.live.metrics import LoopMetrics
from fastcam_runtime.measure import system
from fastcam_runtime.sinks import open_sink
from fastcam_runtime.sinks.live_page.page import LivePage
from fastcam_runtime.sources import open_source

from ..inputs.small_network import small_graft

VISITS_PER_HOUR = 360
POLLS = 20
PICTURES = 5
AT_ONCE = 4
TOKEN = "a-token-for-the-soak"
LIMIT = 5_000_000
READINGS = 100


class Visitor:
    """One visit after another to the page at a port of this machine."""

    def __init__(self, port: int) -> None:
        self._port = port

    def visit(self, number: int) -> None:
        """Come, look and go."""
        for path in ("/", "/page.js", "/page.css", "/choices", "/snapshot.jpg"):
            self._get(path)
        self._watch(in_the_middle=number % 3 == 0)
        for _ in range(POLLS):
            self._get("/status")
        body = f'{{"view": "{("overlay", "map", "side")[number % 3]}"}}'
        self._request("POST", "/control", body, {"Content-Type": "application/json"})
        self._misbehave(number)

    def _watch(self, *, in_the_middle: bool) -> None:
        with self._connect() as connection:
            connection.sendall(f"GET /stream.mjpg?token={TOKEN} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            received, seen = b"", 0
            while seen < PICTURES:
                piece = connection.recv(65536)
                if not piece:
                    return
                received += piece
                seen += received.count(b"--picture\r\n")
                received = received[-11:]
            if in_the_middle:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    def _misbehave(self, number: int) -> None:
        for data in (b"GET /\xff HTTP/9\r\n\r\n", b"GET / HTTP/1.1\r\n", b""):
            with self._connect() as connection, suppress(OSError):
                connection.sendall(data)
        if number % 40 == 0:
            self._request("GET", f"/?token=wrong-{number % 5}", None, {}, token=False)

    def _get(self, path: str) -> None:
        self._request("GET", path, None, {})

    def _request(
        self, method: str, path: str, body: str | None, headers: dict[str, str], *, token: bool = True
    ) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        sent = {**headers, **({"Cookie": f"fastcam_{self._port}={TOKEN}"} if token else {})}
        try:
            connection.request(method, path, body, sent)
            connection.getresponse().read()
        finally:
            connection.close()

    def _connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self._port), timeout=60)


def visit_all(port: int, visits: int) -> None:
    """Make all visits, a few at the same time; prints a dot after each."""

    def one(number: int) -> None:
        with suppress(OSError, http.client.HTTPException):
            Visitor(port).visit(number)
        print(".", end="", flush=True)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for _ in pool.map(one, range(visits)):
            pass


class Watch:
    """Memory and open files after every few visits."""

    def __init__(self, visits: int, report: Path | None, metrics: LoopMetrics) -> None:
        self._step = max(1, visits // READINGS)
        self._report = report
        self._metrics = metrics
        self._started = time.monotonic()
        self.visits = 0
        self.rss: list[int] = []
        self.files: list[int] = []

    def settled(self) -> tuple[Sequence[int], Sequence[int]]:
        """Memory and files after the first tenth."""
        warm_up = len(self.rss) // 10
        return self.rss[warm_up:], self.files[warm_up:]

    @property
    def growth(self) -> int:
        """Bytes that memory grew by after the first tenth."""
        rss, _ = self.settled()
        return max(rss, default=0) - (rss[0] if rss else 0)

    def count(self) -> None:
        """One more visit is over."""
        self.visits += 1
        if self.visits % self._step:
            return
        self.rss.append(system.rss_bytes())
        self.files.append(len(os.listdir("/proc/self/fd")))
        print(
            f"{self.visits:6d} visits  {self._metrics.frames:8d} pictures  {self.rss[-1] / 1e6:7.1f} MB  "
            f"{self.files[-1]} files",
            flush=True,
        )
        if self._report is not None:
            figures = {
                "visits": self.visits,
                "hours_worth": round(self.visits / VISITS_PER_HOUR, 2),
                "pictures": self._metrics.frames,
                "growth_bytes": self.growth,
                "rss_bytes": self.rss,
                "open_files": self.files,
                "seconds": round(time.monotonic() - self._started, 1),
            }
            write_json(self._report, figures)


def main() -> int:
    """Run the page and its visitors; exit code 1 if memory or files grew."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hours", type=float, default=8.0, help="hours' worth of visits (8)")
    parser.add_argument("--fps", type=float, default=50.0, help="pictures per second (50)")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--visit", type=int, nargs=2, metavar=("PORT", "VISITS"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.visit:
        visit_all(*args.visit)
        return 0
    visits = max(1, round(args.hours * VISITS_PER_HOUR))
    with tempfile.TemporaryDirectory() as folder:
        explainer = Explainer(small_graft(Path(folder) / "grafted.onnx"), threads=1)
        controls, metrics = Controls(available_views(explainer.model)), LoopMetrics()
        watch = Watch(visits, args.json, metrics)
        source = open_source(f"test://?size=160x120&fps={args.fps:g}&frames=0", paced=True)
        page = open_sink("http://:0", fps=args.fps, controls=controls, token=TOKEN, metrics=metrics)
        assert isinstance(page, LivePage)
        port = page.url.rstrip("/").rpartition(":")[2]
        command = [sys.executable, "-m", "benchmarks.endurance.page_soak", "--visit", port, str(visits)]
        visitors = subprocess.Popen(command, stdout=subprocess.PIPE)

        def follow() -> None:
            assert visitors.stdout is not None
            while visitors.stdout.read(1):
                watch.count()
            controls.request_stop()

        threading.Thread(target=follow, daemon=True).start()
        try:
            Loop(explainer, source, [page], controls, metrics=metrics).run()
        finally:
            visitors.kill()
            visitors.wait()
    _, files = watch.settled()
    growth = f"{watch.growth / 1e6:+.2f} MB after the first tenth"
    print(f"{watch.visits} visits, {metrics.frames} pictures: {growth}")
    leaks = len(files) > 1 and min(files[len(files) // 2 :]) > max(files[: len(files) // 2])
    return int(watch.visits < visits or watch.growth >= LIMIT or leaks)


if __name__ == "__main__":
    raise SystemExit(main())
