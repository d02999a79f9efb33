"""What computes the maps of a file here: compiled kernels, or the standard operators of its functions."""

from __future__ import annotations

from .. import native
from ..contract import METADATA_KEY, Metadata
from ..text import printable
from .file import Summary

STANDARD = "standard operators"


def describe_kernels(file: Summary, *, compiled: bool, on_cpu: bool) -> str:
    """One line: what computes the maps of a file, and if no compiled kernels do, why.

    Raises:
        ModelError: The file's metadata are damaged.
    """
    if not compiled:
        return f"{STANDARD}, no compiled kernels: not wanted"
    if not on_cpu:
        return f"{STANDARD}, no compiled kernels: they are for the CPU"
    text = file.metadata.get(METADATA_KEY)
    if text is None:
        return f"{STANDARD}, no maps"
    operators = native.operators()
    if not operators:
        return f"{STANDARD}, {native.status()}"
    if Metadata.from_json(text).prepared:
        return native.status()
    if not file.functions:
        return f"{STANDARD}, no functions for compiled kernels"
    missing = [printable(name) for name in file.functions if name not in operators]
    if len(missing) == len(file.functions):
        return f"{STANDARD}, no compiled kernels for {', '.join(missing)}"
    return f"{native.status()}, {STANDARD} for {', '.join(missing)}" if missing else native.status()
