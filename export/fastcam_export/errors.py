"""Errors of loading and grafting a model."""

from __future__ import annotations

from fastcam_runtime.errors import FastcamError


class LoadError(FastcamError):
    """The model cannot be read, or is not of the requested kind."""


class GraftError(FastcamError):
    """The model was read, but the requested maps cannot be added to it."""
