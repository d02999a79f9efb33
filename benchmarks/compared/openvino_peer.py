"""openvino_xai: a worker in its own virtual environment, because it needs an old numpy."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path
from types import TracebackType
from typing import Any

from ..paths import RESULTS

ENVIRONMENT = RESULTS / "openvino-xai"
REQUIREMENTS = Path(__file__).with_name("openvino-requirements.txt")
_WORKER = Path(__file__).with_name("openvino_worker.py")


class Unavailable(Exception):
    """openvino_xai cannot be installed or started here; the message says why."""


def make_environment() -> Path:
    """The environment's Python; created once, about 700 MB.

    Raises:
        Unavailable: The packages cannot be installed.
    """
    python = ENVIRONMENT / "bin" / "python"
    installed = ENVIRONMENT / "installed.txt"
    if installed.exists() and installed.read_text() == REQUIREMENTS.read_text():
        return python
    print(f"installing openvino_xai into {ENVIRONMENT.relative_to(RESULTS.parents[1])} …", file=sys.stderr)
    venv.create(ENVIRONMENT, with_pip=True, clear=True)
    done = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", REQUIREMENTS],
        stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        reason = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["pip failed"]
        raise Unavailable(f"cannot be installed: {reason[-1]}")
    installed.write_text(REQUIREMENTS.read_text())
    return python


class Worker:
    """A process in that environment that times one method of one network per call."""

    def __init__(self, path: Path, size: int, clock: str) -> None:
        """Start it.

        Raises:
            Unavailable: It does not start.
        """
        self._process = subprocess.Popen(
            [make_environment(), _WORKER, path, "--size", str(size), "--clock", clock],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        offer = self._answer()
        self.version = str(offer["openvino"])
        self.shapes: dict[str, list[int]] = offer["shapes"]
        """The shape of each method's last output, by name; `plain` is the network without a map."""

    def time_ms(self, method: str) -> float:
        """Run `method` once; the worker's own clock counts."""
        assert self._process.stdin is not None
        print(method, file=self._process.stdin, flush=True)
        return float(self._answer())

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise Unavailable(f"its worker ended with code {self._process.wait()}")
        return json.loads(line)

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
