"""What can go wrong between a model and its grafted copy."""

from __future__ import annotations

from fastcam_runtime.errors import FastcamError


class LoadError(FastcamError):
    """The model cannot be read, or is not what was asked for."""


class GraftError(FastcamError):
    """The model was read, but maps cannot be grafted into it as asked."""
