"""A recording that is killed in the middle, with the program that encodes it."""

from __future__ import annotations

import os
from pathlib import Path

from .processes import started
from .waiting import until

RECORD = """
import sys, time
from pathlib import Path
import numpy as np
from fastcam_runtime.sinks import Status
from fastcam_runtime.sinks.video import VideoFile
sink = VideoFile(Path(sys.argv[1]), 25.0)
picture = np.random.default_rng(0).integers(0, 256, (96, 128, 3), np.uint8)
for number in range(100_000):
    sink.write(np.roll(picture, 7 * number, axis=1), Status(number))
    time.sleep(0.002)
    if number == 0 and hasattr(sink._encoder, "_process"):
        print(sink._encoder._process.pid, flush=True)
    elif number == 0:
        print(0, flush=True)
"""


def record_and_kill(path: Path, path_variable: str | None = None, least: int = 300_000) -> Path:
    """Record in another process until the part has this many bytes, and kill it and its ffmpeg at once."""
    environment = {} if path_variable is None else {"PATH": path_variable}
    with started("-c", RECORD, path, environment=environment) as process:
        assert process.stdout is not None
        writer = int(process.stdout.readline())
        part = path.with_name(f".{path.stem}.{process.pid}.part{path.suffix}")
        until(lambda: part.exists() and part.stat().st_size > least)
        if writer:
            os.kill(writer, 9)
        process.kill()
        process.wait()
    if writer:
        until(lambda: not is_running(writer))
    return part


def is_running(process: int) -> bool:
    stat = Path(f"/proc/{process}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"
