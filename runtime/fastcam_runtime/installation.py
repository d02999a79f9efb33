"""This installation: how to install its optional parts, and where it keeps files."""

from __future__ import annotations

import os
import shlex
from importlib import metadata
from pathlib import Path

NAME = "fastcam-edge"
_ROOT = Path(__file__).resolve().parents[2]
"""The checkout, if this is the source tree and not an installed copy."""


def requirement(extra: str) -> str:
    """The argument of `pip install` for an extra such as `export`.

    An installed package gets its extra by name. pip does not know a source tree that runs without
    installation by name: there it is the path of the tree.
    """
    if _is_installed() or not (_ROOT / "pyproject.toml").is_file():
        return f"'{NAME}[{extra}]'"
    place = "." if Path.cwd() == _ROOT else str(_ROOT)
    return f"-e {shlex.quote(f'{place}[{extra}]')}"


def _is_installed() -> bool:
    """Whether pip knows the package by its name, also as an editable installation."""
    try:
        metadata.version(NAME)
    except metadata.PackageNotFoundError:
        return False
    return True


def user_cache(name: str) -> Path:
    """The folder for one kind of files that can be made or fetched again; it may not exist yet.

    `$XDG_CACHE_HOME/fastcam/NAME`, else `~/.cache/fastcam/NAME`. A relative path in the variable is ignored,
    as its specification asks.
    """
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        folder = Path(base) if os.path.isabs(base) else Path.home() / ".cache"
        str(folder).encode()  # onnxruntime opens no file whose name is not UTF-8
    except (RuntimeError, UnicodeEncodeError):  # a user without a home, as services may have
        folder = Path("/nonexistent")
    return folder / "fastcam" / name
