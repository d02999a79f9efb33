"""The commands of `fastcam_export`, which need packages that a device usually has not."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from ..errors import FastcamError
from ..installation import requirement
from .signals import importing

_OF_EXPORT_EXTRA = ("onnx", "onnx_ir", "onnxscript")


def import_commands() -> ModuleType:
    """The module with the exporter's commands. Only running them needs further packages."""
    with importing():
        return importlib.import_module("fastcam_export.cli.main")


@contextmanager
def needs_extra(what: str) -> Iterator[None]:
    """Imports that need the extra `export`; the message says that `what` needs it.

    Raises:
        FastcamError: A package of the extra is not installed.
    """
    try:
        with importing():
            yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _OF_EXPORT_EXTRA:
            raise
        raise FastcamError(f"{what} needs {missing}: pip install {requirement('export')}") from error
