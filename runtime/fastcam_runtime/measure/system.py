"""The machine that this process runs on, and the memory that it uses."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from pathlib import Path

import cv2
import numpy as np
import onnxruntime as ort

from ..model.device import first_core
from ..model.watching import peak_rss_bytes as peak_rss_bytes
from ..model.watching import rss_bytes as rss_bytes


def memory_bytes() -> int:
    """The memory of the machine; 0 where the system does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows
        return 0


def cpu_name() -> str:
    """The processor, and the board if the system names it."""
    board = ""
    with suppress(OSError):
        board = Path("/proc/device-tree/model").read_text().strip("\0\n ")
    names = ", ".join(filter(None, (board, first_core().get("model name"))))
    return names or platform.processor() or platform.machine()


def overflows_int8() -> bool:
    """Whether sums of two int8 products overflow here: an x86 without VNNI adds them in 16 bits.

    False if the system does not report it.
    """
    flags = first_core().get("flags", "").split()
    return bool(flags) and not any(flag.endswith("_vnni") for flag in flags)


def versions() -> dict[str, str]:
    """The versions of the packages that affect speed."""
    return {
        "onnxruntime": ort.__version__,
        "opencv": cv2.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "system": platform.platform(),
    }
