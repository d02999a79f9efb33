"""Silence the log output of OpenCV and FFmpeg, which would hide our one-line error messages.

Importing this module is enough. Set OPENCV_LOG_LEVEL or OPENCV_FFMPEG_LOGLEVEL to get the output.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import cv2

_SILENT = 0
_AV_LOG_QUIET = "-8"

if "OPENCV_LOG_LEVEL" not in os.environ:
    # OpenCV 4 has it at the top level, OpenCV 5 in cv2.utils.
    set_level = getattr(cv2, "setLogLevel", None) or cv2.utils.logging.setLogLevel
    set_level(_SILENT)
# OpenCV reads it when FFmpeg is first used.
os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", _AV_LOG_QUIET)


def _unnamed_file() -> IO[bytes]:
    """A file in memory where the system has such: a device's disk may be full or read-only."""
    if hasattr(os, "memfd_create"):
        return open(os.memfd_create("fastcam"), "w+b")
    return tempfile.TemporaryFile()


_OURS = b"fastcam: "
_turn = threading.Lock()


@contextmanager
def decoding() -> Iterator[None]:
    """Drop what libpng and libjpeg print about damaged pictures: they write to standard error themselves.

    Lines of our own log that other threads write meanwhile are passed on.
    """
    with _turn:
        try:
            kept = os.dup(2)
        except OSError:  # a service without a standard error
            yield
            return
        with _unnamed_file() as said:
            os.dup2(said.fileno(), 2)
            try:
                yield
            finally:
                os.dup2(kept, 2)
                said.seek(0)
                os.write(kept, b"".join(line for line in said if line.startswith(_OURS)))
                os.close(kept)
