"""Files that `fastcam export --prepared` laid out for one kind of processor: where they may run."""

from __future__ import annotations

import platform

import onnxruntime as ort

from .. import native as compiled
from .blocks import block

AGAIN = "make it again on this device: fastcam export … --prepared"


def here() -> str:
    """What a file is prepared for: its layout is onnxruntime's own affair, and the processor's."""
    channels = block()
    layout = f" with blocks of {channels}" if channels is not None else ""
    return f"onnxruntime {ort.__version__} on {platform.machine()}{layout}"


def refusal(prepared: str, *, native: bool, provider_is_cpu: bool) -> str:
    """Why a file that was prepared for this cannot run here, in one line; empty where it can.

    Args:
        prepared: `Metadata.prepared` of the file.
        native: Whether compiled kernels are wanted.
        provider_is_cpu: Whether the processor itself computes.
    """
    if not prepared:
        return ""
    if not provider_is_cpu:
        return "prepared for the CPU; use --provider cpu"
    if not native:
        return "prepared for compiled kernels; it cannot run without them"
    if not compiled.usable():
        return f"prepared for compiled kernels; {compiled.status()}"
    return "" if prepared == here() else f"prepared for {prepared}, this is {here()}; {AGAIN}"
