"""This process's resident memory and its peak, from Linux's /proc.

`getrusage` would not do: its peak is inherited from the process that started this one.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

_PROCESS = Path("/proc/self")


def memory_bytes() -> int:
    """What is resident now."""
    return _status("VmRSS")


def peak_bytes() -> int:
    """The most that was resident since the process began, or since `reset_peak`."""
    return _status("VmHWM")


def reset_peak() -> None:
    """Let the peak begin anew; where the system forbids it, the peak counts from the process's start."""
    with suppress(OSError):
        (_PROCESS / "clear_refs").write_text("5")


def _status(key: str) -> int:
    for line in (_PROCESS / "status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == key:
            return 1024 * int(value.split()[0])
    raise RuntimeError(f"/proc/self/status has no {key}")
