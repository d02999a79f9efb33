"""The compiled kernels: an onnxruntime custom-operator library, where one was built at installation.

A grafted file's steps are local functions of the domain `fastcam`. onnxruntime expands them into standard
operators, unless a registered library has a kernel of the same name. So the same file runs everywhere, and
several times faster with this library. The kernels run on the CPU: registering them for a session on an
accelerator would copy every tapped tensor back to the CPU.
"""

from __future__ import annotations

import ctypes
import itertools
import sys
from pathlib import Path
from typing import Any

import onnxruntime as ort

from ..errors import last_line

__all__ = ["find_function", "library_path", "operators", "register", "status", "usable"]

_LIBRARY = Path(__file__).with_name("fastcam_ops" + (".dll" if sys.platform == "win32" else ".so"))

_refusal: str | None = None
"""Why onnxruntime did not load the library the last time; empty if it did, None if it was never tried."""


def library_path() -> Path | None:
    """The path of the library, to register it in a program of your own; None if it was not built."""
    return _LIBRARY if _LIBRARY.is_file() else None


def find_function(name: str) -> Any | None:
    """A function of the library, to be called through ctypes.

    None if there is no library, or if it was built for another machine or from an older version.
    """
    path = library_path()
    try:
        return None if path is None else getattr(ctypes.CDLL(str(path)), name)
    except (OSError, AttributeError):
        return None


def operators() -> frozenset[str]:
    """The functions that the library has kernels for; none if onnxruntime does not load it."""
    function = None if _why_refused() else find_function("fastcam_operator")
    if function is None:
        return frozenset()
    function.argtypes, function.restype = [ctypes.c_size_t], ctypes.c_char_p
    names = (function(index) for index in itertools.count())
    return frozenset(name.decode() for name in itertools.takewhile(bool, names))


def register(options: ort.SessionOptions) -> bool:
    """Let the sessions made with `options` use the kernels. Call it once for each `SessionOptions`.

    Returns:
        Whether the kernels were registered. If not, `status` says why, and sessions use standard operators.

    Example:
        >>> options = ort.SessionOptions()
        >>> register(options) == (library_path() is not None)
        True
    """
    global _refusal
    path = library_path()
    if path is None:
        return False
    try:
        options.register_custom_ops_library(str(path))
    except Exception as error:  # onnxruntime raises its own types, or RuntimeError, depending on the reason
        _refusal = last_line(error)
        return False
    _refusal = ""
    return True


def usable() -> bool:
    """Whether onnxruntime loads the library; if not, `status` says why."""
    return register(ort.SessionOptions())


def _why_refused() -> str:
    if _refusal is None:
        usable()
    return _refusal or ""


def status() -> str:
    """One line: whether compiled kernels are available, and if not, why."""
    path = library_path()
    if path is None:
        return f"no compiled kernels: {_LIBRARY.name} is missing; installing with a C compiler builds it"
    if why := _why_refused():
        return f"no compiled kernels: onnxruntime {ort.__version__} does not load them: {why}"
    return f"compiled kernels ({path.name})"
