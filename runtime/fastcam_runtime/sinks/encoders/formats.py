"""The formats of recordings by suffix, and which encoder writes each."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from ...errors import SinkError
from . import ffmpeg
from .base import Encoder
from .ffmpeg import FfmpegCodec, open_pipe, try_beside
from .opencv import open_writer
from .webp import LONGEST_SIDE, WebpAnimation

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Format:
    """The encoders of a format, best first."""

    pipe: tuple[FfmpegCodec, ...] = ()
    """Tried with the program `ffmpeg`, if it is there."""
    opencv: tuple[str, ...] = ()
    """Tried then with OpenCV."""
    even: bool = True
    """Width and height must be even."""


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        ".mp4": Format(ffmpeg.H264, ("avc1", "mp4v")),
        ".webm": Format(ffmpeg.VP8, ("VP80",)),
        ".mov": Format(ffmpeg.H264, ("avc1", "mp4v")),
        ".mkv": Format(ffmpeg.H264, ("avc1", "mp4v", "MJPG")),
        ".avi": Format((), ("MJPG", "XVID")),
        ".gif": Format(ffmpeg.GIF, (), even=False),
        ".webp": Format(even=False),
    }
)
"""VP9 inside .mp4 is left out: OpenCV takes over a second for a picture of 1280x720."""


def prepare_encoder(suffix: str, fps: float) -> None:
    """Start to find out which encoder works, while there is no picture yet."""
    try_beside(FORMATS[suffix.lower()].pipe, suffix, fps)


def open_encoder(path: Path, part: Path, fps: float, size: tuple[int, int]) -> Encoder:
    """The best encoder for the suffix of `path` that works here; it writes to `part`.

    The codec is logged, with a warning if browsers cannot play it.

    Raises:
        SinkError: No encoder works.
    """
    if path.suffix.lower() == ".webp":
        if max(size) > LONGEST_SIDE:
            raise SinkError(f"{path}: OpenCV cannot write a .webp of {size[0]}x{size[1]}")
        return WebpAnimation(part, fps, size)
    kind = FORMATS[path.suffix.lower()]
    encoder = open_pipe(kind.pipe, part, fps, size) or open_writer(kind.opencv, part, fps, size)
    if encoder is None:
        part.unlink(missing_ok=True)
        needs = "there is no ffmpeg that can" if not kind.opencv else "neither ffmpeg nor OpenCV can"
        raise SinkError(
            f"{path}: {needs} record {size[0]}x{size[1]} at {fps} per second as {path.suffix}; "
            f"there are {', '.join(FORMATS)}"
        )
    advice = ""
    if encoder.codec.startswith("MPEG-4 Part 2"):
        advice = "; browsers and most phones do not play it: install ffmpeg, or record .webm"
        if path.suffix.lower() in (".mp4", ".mov"):
            advice += "; if fastcam is killed, it is lost"
    logger.info("%s: %s%s", path, encoder.codec, advice)
    return encoder
