"""The commands of `fastcam_export`, which is usually not installed on a device."""

from __future__ import annotations

import importlib
from types import ModuleType

from ..errors import FastcamError

_OF_EXPORT_EXTRA = ("onnx", "onnx_ir", "onnxscript")


def import_commands(what: str) -> ModuleType:
    """The module with the exporter's commands, imported only when one of them is used.

    Args:
        what: What it is needed for, for the message.

    Raises:
        FastcamError: A package that it needs is not installed.
    """
    try:
        return importlib.import_module("fastcam_export.cli.main")
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _OF_EXPORT_EXTRA:
            raise
        raise FastcamError(f"{what} needs {missing}: pip install 'fastcam-edge[export]'") from error
