"""This process's resident memory and its peak, from Linux's /proc.

Not `getrusage`: its peak is inherited from the parent process.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

_PROCESS = Path("/proc/self")


def memory_bytes() -> int:
    """The current resident memory."""
    return _status("VmRSS")


def peak_bytes() -> int:
    """The peak resident memory since the process began, or since `reset_peak`."""
    return _status("VmHWM")


def reset_peak() -> None:
    """Reset the peak; if the system forbids it, the peak counts from the start of the process."""
    with suppress(OSError):
        (_PROCESS / "clear_refs").write_text("5")


def _status(key: str) -> int:
    for line in (_PROCESS / "status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == key:
            return 1024 * int(value.split()[0])
    raise RuntimeError(f"/proc/self/status has no {key}")
