"""The exceptions for everything that a user can cause. Each message fits on one line."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class FastcamError(Exception):
    """An error that the user can fix. The command line prints its message and exits with code 2."""


class ModelError(FastcamError):
    """The model file cannot be used: missing, damaged, not grafted, or of an unexpected kind."""


class SourceError(FastcamError):
    """Frames cannot be read."""


class SinkError(FastcamError):
    """Pictures cannot be written or shown."""


def closest(name: str, candidates: Iterable[str], most: int = 3) -> str:
    """The candidates most like `name`, as the end of an error message: `; closest: a, b` or nothing."""
    found = difflib.get_close_matches(name, list(candidates), n=most, cutoff=0.4)
    return f"; closest: {', '.join(found)}" if found else ""


def first_line(error: BaseException) -> str:
    """The first line of an error message: onnx and onnxruntime put the reason there."""
    return _lines(error)[0]


def last_line(error: BaseException) -> str:
    """The last line of an error message: OpenCV names its own source file first and the reason last."""
    return _lines(error)[-1]


def _lines(error: BaseException) -> list[str]:
    """The lines of an error message that are not blank; the name of its type if there are none."""
    return [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
