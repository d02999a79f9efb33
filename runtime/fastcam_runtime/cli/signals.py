"""The signals that end a command: Ctrl-C, SIGTERM, and SIGHUP when the terminal closes."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

from ..live.controls import Controls

CLEANUPS: list[Callable[[], None]] = []
"""What `end_at_once` does first: it removes temporary folders."""

FAULT = "the network divides integers with a result that no integer can hold"
"""Why a command ended at SIGFPE."""

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")  # there is no SIGHUP on Windows


def end_quietly() -> None:
    """The work is done: Ctrl-C ends the process at once instead of interrupting Python's own end."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def importing() -> Iterator[None]:
    """Let Ctrl-C end the process at once in this block too, which imports large packages."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def handled(handler: Callable[[int, FrameType | None], None]) -> Iterator[list[signal.Signals]]:
    """Handle these signals with `handler`; yields the signals it handles. Call it from the main thread.

    A signal that is ignored stays ignored: `nohup` and a shell's `&` rely on that.
    """
    known = [signal.Signals[name] for name in _NAMES if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in known}
    taken = [number for number in known if before[number] != signal.SIG_IGN]
    for number in taken:
        signal.signal(number, handler)
    try:
        yield taken
    finally:
        for number in taken:
            signal.signal(number, before[number])


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """End the block on the first signal, so that it removes its folders; further ones do not interrupt that.

    By default SIGTERM ends Python before it removes anything. For work that does not stay in a library.

    Raises:
        KeyboardInterrupt: Ctrl-C.
        SystemExit: The other signals, with the exit code that shells use: 143 for SIGTERM.
    """
    with handled(first_only(stop)):
        yield


def stop(number: int) -> NoReturn:
    """Raise what a signal stands for: KeyboardInterrupt, or SystemExit with the exit code that shells use."""
    raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)


def first_only(act: Callable[[int], None]) -> Callable[[int, FrameType | None], None]:
    """A handler that calls `act` with the number of the first signal. Further signals have no effect.

    They are not ignored by SIG_IGN: Python reports an error for signals that came just before it was set.
    """
    came = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal came
        if not came:
            came = True
            act(number)

    return handle


@contextmanager
def faults_ended() -> Iterator[None]:
    """End the process with one line if a network divides the least integer by −1 in this block (SIGFPE).

    The processor cannot continue, so a handler in Python never runs. But the system writes the number of the
    signal to a socket, and a thread waits there.
    """
    main = threading.current_thread() is threading.main_thread()
    # Python's own fault handler (PYTHONFAULTHANDLER) has the signal already, and reports it.
    if not main or signal.getsignal(signal.SIGFPE) is None:
        yield
        return
    reader, writer = socket.socketpair()
    writer.setblocking(False)

    def watch() -> None:
        while number := reader.recv(1):
            if number[0] == signal.SIGFPE:
                end_at_once(2, FAULT)

    before = signal.signal(signal.SIGFPE, lambda *_: None)
    outer = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    thread = threading.Thread(target=watch, name="fastcam faults", daemon=True)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(outer)
        signal.signal(signal.SIGFPE, before)
        writer.close()
        thread.join()
        reader.close()


def end_at_once(code: int, message: str = "") -> NoReturn:
    """End the process from any thread, also while another one is inside a library and cannot be stopped."""
    for clean in CLEANUPS:
        clean()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, RuntimeError):  # its lock may be held
            if stream is sys.stderr and message:
                print(f"fastcam: error: {message}", file=stream)
            stream.flush()
    os._exit(code)


@contextmanager
def stopped_by_signals(controls: Controls) -> Iterator[None]:
    """Stop the loop on a signal; a second Ctrl-C ends the process at once."""

    def stop_loop(number: int, frame: FrameType | None) -> None:
        for taken in signals:
            signal.signal(taken, signal.SIG_DFL if taken == signal.SIGINT else signal.SIG_IGN)
        # In its own thread: the interrupted thread may hold a lock that `request_stop` needs (deadlock).
        threading.Thread(target=controls.request_stop, name="fastcam stop", daemon=True).start()

    with handled(stop_loop) as signals:
        yield
