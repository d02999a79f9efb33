"""The one exception family: everything a user can cause, worded so that one line is enough."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class FastcamError(Exception):
    """A mistake or a condition that the user can mend. The command line prints it and exits with 2."""


class ModelError(FastcamError):
    """The model file cannot be used: missing, broken, not grafted, or of an unexpected form."""


class SourceError(FastcamError):
    """Frames cannot be read."""


class SinkError(FastcamError):
    """Pictures cannot be written or shown."""


def closest(name: str, candidates: Iterable[str], most: int = 3) -> str:
    """The candidates most like `name`, as the end of an error message: `; closest: a, b` or nothing."""
    found = difflib.get_close_matches(name, list(candidates), n=most, cutoff=0.4)
    return f"; closest: {', '.join(found)}" if found else ""


def first_line(error: BaseException) -> str:
    """What onnx or onnxruntime say of an error, in one line."""
    return _lines(error)[0]


def last_line(error: BaseException) -> str:
    """The same of what says first where in its code it was, and at last what is wrong, as OpenCV does."""
    return _lines(error)[-1]


def _lines(error: BaseException) -> list[str]:
    """What an error says; its kind where it says nothing."""
    return [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
