"""The options of the demo."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fastcam_runtime.errors import FastcamError
from fastcam_runtime.measure.paired import BenchOptions
from fastcam_runtime.sources.test_clip import DEFAULT_FRAMES, DEFAULT_SIZE


@dataclass(frozen=True)
class DemoOptions:
    """How much the demo shows, and where it writes."""

    out: Path = Path("demo")
    frames: int = DEFAULT_FRAMES
    size: tuple[int, int] = DEFAULT_SIZE
    """Width and height."""
    threads: int = 1
    """Threads of the network for the clip. Drawing and recording have their own; latencies use one thread."""
    rounds: int = 60
    """Runs of each variant for the latencies."""

    def __post_init__(self) -> None:
        if self.frames < 1:
            raise FastcamError(f"frames is {self.frames}: at least 1 is needed")
        BenchOptions(rounds=self.rounds)  # raises if there are too few
