"""The exceptions for everything that a user can cause. Each message fits on one line."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from .text import printable


class FastcamError(Exception):
    """An error that the user can fix. The command line prints its message and exits with code 2."""


class ModelError(FastcamError):
    """The model file cannot be used: missing, damaged, not grafted, or of an unexpected kind."""


class SourceError(FastcamError):
    """Frames cannot be read."""


class SinkError(FastcamError):
    """Pictures cannot be written or shown."""


class UnexpectedError(FastcamError):
    """An unexpected error: a bug in this package, with the cause as `__cause__`."""


@contextmanager
def guarded(name: str) -> Iterator[None]:
    """Turn an unexpected error into one line that names the file and asks for a report.

    User errors and system errors are not changed.

    Raises:
        UnexpectedError: Any other error came out of the block.
    """
    try:
        yield
    except (FastcamError, OSError):
        raise
    except MemoryError as error:
        raise ModelError(f"{name}: not enough memory") from error
    except Exception as error:
        if isinstance(error, RuntimeError) and _NO_THREAD in str(error):
            raise FastcamError(f"{name}: no thread can be started: too little memory, or a limit") from error
        what = f"{type(error).__name__}: {first_line(error)[:_LONGEST_REASON]}"
        raise UnexpectedError(
            f"{name}: {what}; this is a bug in fastcam, please report it with the file "
            "(--debug shows the traceback)"
        ) from error


_LONGEST_REASON = 300
_NO_THREAD = "can't start new thread"
"""How Python says that the system refuses one more."""


@contextmanager
def ort_errors_as(kind: type[FastcamError], what: str) -> Iterator[None]:
    """Raise an error of onnxruntime as `kind`: what failed, then the first line of its message.

    onnxruntime raises a dozen types without a common base class. Errors of this package are not changed.

    Raises:
        kind: onnxruntime failed in the block.
    """
    try:
        yield
    except FastcamError:
        raise
    except Exception as error:
        raise kind(f"{what}: {first_line(error)}") from error


def closest(name: str, candidates: Iterable[str], most: int = 3) -> str:
    """The candidates closest to `name`, as the end of an error message: `; closest: a, b`, or empty."""
    found = difflib.get_close_matches(name, list(candidates), n=most, cutoff=0.4)
    return f"; closest: {', '.join(map(printable, found))}" if found else ""


def first_line(error: BaseException) -> str:
    """The first line of an error message: onnx and onnxruntime put the reason there."""
    return _lines(error)[0]


def last_line(error: BaseException) -> str:
    """The last line of an error message: OpenCV names its own source file first and the reason last."""
    return _lines(error)[-1]


def _lines(error: BaseException) -> list[str]:
    """The lines of an error message that are not blank; the name of its type if there are none."""
    return [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
