"""Silence the log output of OpenCV and FFmpeg, which would hide our one-line error messages.

Importing this module is enough. Set OPENCV_LOG_LEVEL or OPENCV_FFMPEG_LOGLEVEL to get the output.
"""

from __future__ import annotations

import os

import cv2

_SILENT = 0
_AV_LOG_QUIET = "-8"

if "OPENCV_LOG_LEVEL" not in os.environ:
    # OpenCV 4 has it at the top level, OpenCV 5 in cv2.utils.
    set_level = getattr(cv2, "setLogLevel", None) or cv2.utils.logging.setLogLevel
    set_level(_SILENT)
# OpenCV reads it when FFmpeg is first used.
os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", _AV_LOG_QUIET)
