"""Keep OpenCV's and FFmpeg's own messages from burying the one line that says what is wrong.

Importing this module is enough. Whoever wants the messages sets OPENCV_LOG_LEVEL or OPENCV_FFMPEG_LOGLEVEL.
"""

from __future__ import annotations

import os

import cv2

_SILENT = 0
_AV_LOG_QUIET = "-8"

if "OPENCV_LOG_LEVEL" not in os.environ:
    # OpenCV 4 has it at the top, OpenCV 5 among its utilities.
    set_level = getattr(cv2, "setLogLevel", None) or cv2.utils.logging.setLogLevel
    set_level(_SILENT)
# Read by OpenCV when FFmpeg is first used.
os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", _AV_LOG_QUIET)
