"""`fastcam demo`: the shipped model on the shipped clip, nothing to download."""

from .show import DemoOptions, show

__all__ = ["DemoOptions", "show"]
