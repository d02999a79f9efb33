"""Where frames come from: one interface, chosen by URI."""

from .base import Frame, Image, Source, SourceOptions
from .opening import open_source

__all__ = ["Frame", "Image", "Source", "SourceOptions", "open_source"]
