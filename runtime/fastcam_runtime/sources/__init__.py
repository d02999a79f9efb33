"""Where frames come from: one interface, chosen by URI."""

from . import quiet as _quiet  # noqa: F401 (before OpenCV first speaks)
from .base import Frame, Image, Source, SourceOptions
from .opening import open_source

__all__ = ["Frame", "Image", "Source", "SourceOptions", "open_source"]
