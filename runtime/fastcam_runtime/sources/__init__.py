"""Inputs for frames: one interface, chosen by URI."""

from ..image import Image
from . import quiet as _quiet  # noqa: F401 (must come before the first use of OpenCV)
from .base import Frame, Source, SourceOptions
from .registry import open_source

__all__ = ["Frame", "Image", "Source", "SourceOptions", "open_source"]
