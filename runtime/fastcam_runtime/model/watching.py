"""Run an untrusted network: a run that takes too long or too much memory is stopped."""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from weakref import WeakSet

import onnxruntime as ort

from ..errors import ModelError, first_line
from ..image import Array
from ..limits import LOOP_SECONDS, RUN_SECONDS, TRIAL_SECONDS, run_bytes
from .file import map_model

_PERIOD = 0.02
"""Seconds between two readings of the memory: it grows by at most about 1 GB/s."""
_GRACE = 0.5
"""Seconds that onnxruntime has to stop. It checks only between nodes, and a single node may run long."""

_LOOPS = (b"\x04Loop", b"\0Loop")
"""The name of the operator behind the last byte of its length, which may be written with more bytes than
needed; ORT files use four."""


class LastResort:
    """Ends the process if a run cannot be stopped; set by the command line only."""

    end: Callable[[str], None] | None = None


class Trials:
    """The time that trial runs of networks with a loop may still take; limited by the command line only.

    A command tries one file, often several times. A process that uses the library may try any number.
    """

    seconds: float = math.inf

    @classmethod
    def limit(cls) -> None:
        """Allow `TRIAL_SECONDS` from now on."""
        cls.seconds = TRIAL_SECONDS


class Runner:
    """Runs the sessions of one file. The first run of each is watched; all are if the file has a loop."""

    def __init__(self, name: str, model: Path | bytes) -> None:
        self._name = name
        self.loops = has_loop(model)
        """Whether the model may have a loop."""
        self._seen: WeakSet[ort.InferenceSession] = WeakSet()

    def __call__(
        self,
        session: ort.InferenceSession,
        names: Sequence[str] | None,
        feed: Mapping[str, Array],
        *,
        trial: bool = False,
    ) -> list[Array]:
        """The outputs `names` of a session of this file. A `trial` counts against `Trials`.

        Raises:
            ModelError: The run was stopped.
            Exception: Any error of onnxruntime.
        """
        wanted: Any = names
        if session in self._seen and not self.loops:
            return list(session.run(wanted, feed))
        self._seen.add(session)
        pixels = pixels_of(feed.values())
        with watched(self._name, pixels, loops=self.loops, trial=trial) as options:
            return list(session.run(wanted, feed, options))


def pixels_of(arrays: Iterable[Array]) -> int:
    """Pixels of the pictures among the inputs: the two largest dimensions after the batch, in any layout."""
    sizes = (array.shape[0] * math.prod(sorted(array.shape[1:])[-2:]) for array in arrays if array.ndim == 4)
    return max(sizes, default=0)


def has_loop(model: Path | bytes) -> bool:
    """Whether a model may have a Loop: the operator's name is somewhere in its file."""
    if isinstance(model, bytes):
        return any(model.find(loop) >= 0 for loop in _LOOPS)
    with map_model(model) as file:
        return any(file.find(loop) >= 0 for loop in _LOOPS)


@contextmanager
def watched(name: str, pixels: int, *, loops: bool, trial: bool = False) -> Iterator[ort.RunOptions]:
    """Options for one run, which is stopped when it takes too much memory or too long.

    `pixels` are those of the input. A `trial` counts against `Trials`.

    Raises:
        ModelError: The run was stopped.
    """
    options = ort.RunOptions()
    begin = time.monotonic()
    left = Trials.seconds if trial else math.inf
    done = threading.Event()
    reasons: list[str] = []

    def watch() -> None:
        before, most = rss_bytes(), run_bytes(pixels)
        end = begin + (min(LOOP_SECONDS, left) if loops else RUN_SECONDS)
        while not done.wait(_PERIOD):
            if rss_bytes() - before > most:
                reasons.append(f"a run takes more than {most / 1e9:.1f} GB of memory")
            elif time.monotonic() > end:
                reasons.append(_too_long(left, loops=loops))
            else:
                continue
            options.terminate = True
            if not done.wait(_GRACE) and LastResort.end is not None:
                LastResort.end(f"{name}: {reasons[0]}")
            return

    thread = threading.Thread(target=watch, name="fastcam watch", daemon=True)
    thread.start()
    try:
        yield options
    except Exception as error:
        if not reasons:
            raise
        raise ModelError(f"{name}: {reasons[0]} ({first_line(error)[:80]})") from error
    finally:
        done.set()
        thread.join()
        if loops and trial:
            Trials.seconds = max(0.0, left - (time.monotonic() - begin))
    if reasons:
        raise ModelError(f"{name}: {reasons[0]}")


def _too_long(left: float, *, loops: bool) -> str:
    if not loops:
        return f"a run does not end within {RUN_SECONDS:g} s"
    if left > LOOP_SECONDS:
        return f"a run does not end within {LOOP_SECONDS:g} s: it has a loop"
    return f"its runs do not end within {TRIAL_SECONDS:g} s: it has a loop"


def rss_bytes() -> int:
    """The current resident memory of the process; its peak if the system does not report it."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return peak_rss_bytes()
    return pages * os.sysconf("SC_PAGE_SIZE")


def peak_rss_bytes() -> int:
    """The peak resident memory of the process; 0 if the system does not report it."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
