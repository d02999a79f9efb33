"""The folder for files that this package can make or fetch again."""

from __future__ import annotations

import os
from pathlib import Path


def user_cache(name: str) -> Path:
    """The folder for one kind of such files; it may not exist yet.

    `$XDG_CACHE_HOME/fastcam/NAME`, else `~/.cache/fastcam/NAME`.
    """
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        folder = Path(base) if base else Path.home() / ".cache"
    except RuntimeError:  # a user without a home, as services may have
        folder = Path("/nonexistent")
    return folder / "fastcam" / name
