"""Encoders for recordings: pictures in, one file out."""

from .base import Encoder
from .formats import FORMATS, Format, open_encoder, prepare_encoder

__all__ = ["FORMATS", "Encoder", "Format", "open_encoder", "prepare_encoder"]
