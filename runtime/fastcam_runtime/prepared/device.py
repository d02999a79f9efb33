"""Files that `fastcam export --prepared` laid out for one kind of processor: where they may run."""

from __future__ import annotations

import functools
import platform
from collections.abc import Mapping
from pathlib import Path

import onnxruntime as ort

from .. import native
from ..contract import METADATA_KEY, Metadata
from ..errors import ModelError

AGAIN = "make it again on this device: fastcam export … --prepared"


@functools.cache
def block() -> int | None:
    """How many channels onnxruntime keeps together on this processor; None if the library cannot tell."""
    function = native.find_function("fastcam_block")
    return None if function is None else int(function()) or None


def here() -> str:
    """The device that a file is prepared for: release of onnxruntime, processor, block of channels."""
    channels = block()
    layout = f" with blocks of {channels}" if channels is not None else ""
    return f"onnxruntime {ort.__version__} on {platform.machine()}{layout}"


def check(path: Path, metadata: Mapping[str, str], *, compiled: bool, provider_is_cpu: bool) -> None:
    """Refuse a file that was prepared for another device, or for kernels that are not to be used.

    Args:
        path: The file.
        metadata: All of its metadata.
        compiled: Whether compiled kernels are wanted.
        provider_is_cpu: Whether the CPU runs the network.

    Raises:
        ModelError: The file cannot run here, or its metadata are damaged.
    """
    text = metadata.get(METADATA_KEY)
    prepared = "" if text is None else Metadata.of_file(path, text).prepared
    if why := refusal(prepared, compiled=compiled, provider_is_cpu=provider_is_cpu):
        raise ModelError(f"{path}: {why}")


def refusal(prepared: str, *, compiled: bool, provider_is_cpu: bool) -> str:
    """Why a file that was prepared for this cannot run here, in one line; empty where it can.

    Args:
        prepared: `Metadata.prepared` of the file.
        compiled: Whether compiled kernels are wanted.
        provider_is_cpu: Whether the CPU runs the network.
    """
    if not prepared:
        return ""
    if not provider_is_cpu:
        return "prepared for the CPU; use --provider cpu"
    if not compiled:
        return "prepared for compiled kernels; it cannot run without them"
    if not native.usable():
        return f"prepared for compiled kernels; {native.status()}"
    return "" if prepared == here() else f"prepared for {prepared}, this is {here()}; {AGAIN}"
