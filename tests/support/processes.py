"""`fastcam` as a separate process, for tests with signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def terminal_signals() -> Iterator[None]:
    """Reset this process's signals to Python's defaults when started from a terminal.

    A shell's `&` and `nohup` have SIGINT or SIGHUP ignored, which Python and every child inherit.
    """
    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number in SIGNALS:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def started(
    *command: object, environment: Mapping[str, str] | None = None, ignored: int | None = None
) -> Iterator[subprocess.Popen[str]]:
    """`python COMMAND…`, with the signals of a terminal; killed at the end of the block.

    Otherwise a failing test would wait for it forever, and in the background the process would
    ignore Ctrl-C.

    Args:
        command: What follows `python`.
        environment: Variables to set.
        ignored: A signal that the process is to ignore, as under `nohup`.
    """

    def set_signals() -> None:
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN if number == ignored else signal.SIG_DFL)

    with subprocess.Popen(
        [sys.executable, *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", **(environment or {})},
        preexec_fn=set_signals,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def fastcam(
    *arguments: object, environment: Mapping[str, str] | None = None, ignored: int | None = None
) -> AbstractContextManager[subprocess.Popen[str]]:
    """The same for the command `fastcam`."""
    return started("-m", "fastcam_runtime.cli.main", *arguments, environment=environment, ignored=ignored)
