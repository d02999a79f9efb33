"""Fragmented video files, which play even if the writer was killed, and ordinary files from them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from ..atomic import beside
from .opencv import plays

_PIECE_SECONDS = 1
_FRAGMENTS = (
    *("-movflags", "+frag_keyframe+empty_moov+default_base_moof"),
    *("-frag_duration", str(1_000_000 * _PIECE_SECONDS)),
)
_CLUSTERS = ("-cluster_time_limit", str(1_000 * _PIECE_SECONDS))
SAFE_OPTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {".mp4": _FRAGMENTS, ".mov": _FRAGMENTS, ".mkv": _CLUSTERS, ".webm": _CLUSTERS}
)
"""Options of `ffmpeg` by suffix that write a file in fragments of about a second, each playable. An
ordinary .mp4 has its index at the end, and cannot be played without it."""

_LARGEST_COPY = 256 * 2**20
"""Largest recording in bytes that is converted to an ordinary file at its end. A larger one stays fragmented:
it plays too, and copying it would delay the end."""
_COPY_SECONDS = 20.0


def copy_streams(program: str, source: Path, target: Path, seconds: float | None = None) -> bool:
    """Copy the video of `source` into an ordinary file; returns whether that can be played.

    `source` may be a file whose writer was killed. The suffix of `target` chooses the container; it is
    removed if it cannot be played.
    """
    command = [
        *(program, "-nostdin", "-hide_banner", "-loglevel", "error", "-y"),
        *("-i", f"file:{source.absolute()}", "-map", "0:v:0", "-c", "copy", f"file:{target.absolute()}"),
    ]
    try:
        subprocess.run(command, capture_output=True, timeout=seconds)
        copied = plays(target)
    except (OSError, subprocess.TimeoutExpired):
        copied = False
    if not copied:
        target.unlink(missing_ok=True)
    return copied


def make_ordinary(program: str, path: Path) -> None:
    """Replace a fragmented file by an ordinary one, with one index.

    If that is not possible, or would take long, the file is not changed.
    """
    if SAFE_OPTIONS.get(path.suffix.lower()) is not _FRAGMENTS or not path.exists():
        return
    size = path.stat().st_size
    if size > min(_LARGEST_COPY, shutil.disk_usage(path.parent).free // 2):
        return
    whole = beside(path)
    if copy_streams(program, path, whole, _COPY_SECONDS):
        whole.replace(path)
