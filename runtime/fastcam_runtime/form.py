"""Which form of a file's maps runs here: compiled kernels, or the standard operators of its functions."""

from __future__ import annotations

from pathlib import Path

from . import native as compiled
from .branch import summarize_file
from .contract import METADATA_KEY, Metadata

STANDARD = "standard operators"


def running_form(path: Path, *, native: bool, on_cpu: bool) -> str:
    """One line for people: what computes the maps of this file, and why no compiled kernels where none do.

    Args:
        path: The `.onnx` or `.ort` file.
        native: Whether compiled kernels are wanted.
        on_cpu: Whether the processor itself computes.

    Raises:
        ModelError: The file cannot be read.
    """
    if not native:
        return f"{STANDARD}, no compiled kernels: not wanted"
    if not on_cpu:
        return f"{STANDARD}, no compiled kernels: they are for the CPU"
    # What became of the functions in an ORT file is not told without onnxruntime's own reader.
    return compiled.status() if path.suffix.lower() == ".ort" else _form(path)


def _form(path: Path) -> str:
    file = summarize_file(path)
    text = file.metadata.get(METADATA_KEY)
    if text is None:
        return f"{STANDARD}, no maps"
    operators = compiled.operators()
    if not operators:
        return f"{STANDARD}, {compiled.status()}"
    if Metadata.of_file(path, text).prepared:
        return compiled.status()
    if not file.functions:
        return f"{STANDARD}, no functions for compiled kernels"
    missing = [name for name in file.functions if name not in operators]
    if len(missing) == len(file.functions):
        return f"{STANDARD}, no compiled kernels for {', '.join(missing)}"
    return f"{compiled.status()}, {STANDARD} for {', '.join(missing)}" if missing else compiled.status()
