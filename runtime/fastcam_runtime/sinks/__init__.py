"""Outputs for pictures: one interface, chosen by URI."""

from .base import Sink, Status
from .registry import open_sink

__all__ = ["Sink", "Status", "open_sink"]
