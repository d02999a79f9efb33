"""How to install the packages of an optional part, correct for this installation."""

from __future__ import annotations

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
