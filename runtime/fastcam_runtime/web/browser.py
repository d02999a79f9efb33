"""`fastcam bench --web`: run the network with and without its maps, in turn, in a headless browser."""

from __future__ import annotations

import json
import logging
import os
import queue
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import FastcamError
from ..measure import system
from ..measure.paired import MIN_ROUNDS, Difference, statistics
from .assets import ort_version
from .ort_web import find_ort_web
from .server import SiteServer
from .site import write_site

logger = logging.getLogger(__name__)

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge")
_FLAGS = (
    *("--headless", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--mute-audio"),
)
_START_SECONDS = 300
_SECONDS_PER_ROUND = 10


def find_browser() -> str:
    """The path of a browser that can run headless.

    Raises:
        FastcamError: There is none.
    """
    path = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if path is None:
        raise FastcamError(f"--web needs a browser: none of {', '.join(BROWSERS)} is on the PATH")
    return path


def measure_in_browser(model: Path, rounds: int, threads: int | None = None) -> dict[str, Any]:
    """What the maps of a grafted file cost in WebAssembly, with the conditions of the measurement.

    Args:
        model: A grafted `.onnx` file; the plain network is pruned from it.
        rounds: Runs of each.
        threads: Threads of the network; 1 by default.

    Raises:
        FastcamError: There is no browser or no onnxruntime-web, or the page failed.
    """
    if rounds < MIN_ROUNDS:
        raise FastcamError(f"{rounds} rounds: at least {MIN_ROUNDS} are needed to tell a cost from noise")
    browser = find_browser()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_site(model, folder / "site", find_ort_web(), webgpu=False, bench=True)
        found = _open_page(browser, folder, rounds, threads or 1)
    if "error" in found:
        raise FastcamError(f"{model}: the browser failed: {found['error']}")
    plain, grafted = found["plain"], found["grafted"]
    return {
        "cpu": system.cpu_name(),
        "browser": found["browser"],
        "onnxruntime_web": ort_version(),
        "threads": found["threads"],
        "rounds": rounds,
        "load_ms": found["timings"]["open"],
        "difference_ms": vars(Difference.between(plain, grafted)),
        "variants": [_variant("plain", plain), _variant("grafted", grafted)],
    }


def _variant(name: str, samples: Sequence[float]) -> dict[str, Any]:
    return {"name": name, "statistics_ms": statistics(samples), "samples_ms": list(samples)}


def _open_page(browser: str, folder: Path, rounds: int, threads: int) -> dict[str, Any]:
    """Open the page that measures, and wait for the result that it posts."""
    reports: queue.Queue[bytes] = queue.Queue()
    server = SiteServer(folder / "site", on_report=reports.put)
    url = f"http://127.0.0.1:{server.port}/bench.html?rounds={rounds}&threads={threads}"
    # The sandbox of the browser does not start for root.
    flags = (*_FLAGS, *(("--no-sandbox",) if hasattr(os, "geteuid") and os.geteuid() == 0 else ()))
    command = [browser, *flags, f"--user-data-dir={folder / 'profile'}", url]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    patience = _START_SECONDS + rounds * _SECONDS_PER_ROUND
    try:
        report: dict[str, Any] = json.loads(reports.get(timeout=patience))
    except queue.Empty:
        raise FastcamError(f"{browser} sent no result within {patience} s") from None
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        server.close()
    return report
