"""The package for workstations, which a device may well be without."""

from __future__ import annotations

import importlib
from types import ModuleType

from ..errors import FastcamError

_OF_EXPORT_EXTRA = ("onnx", "onnx_ir", "onnxscript")


def import_commands(what: str) -> ModuleType:
    """The module with the workstation's commands; it is imported only when one of them is chosen.

    Args:
        what: What it is needed for, for the message.

    Raises:
        FastcamError: What it needs is not installed.
    """
    try:
        return importlib.import_module("fastcam_export.cli.main")
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _OF_EXPORT_EXTRA:
            raise
        raise FastcamError(f"{what} needs {missing}: pip install 'fastcam-edge[export]'") from error
