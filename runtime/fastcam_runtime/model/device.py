"""The properties of the device that prepared files depend on, and where these may run."""

from __future__ import annotations

import functools
import itertools
import platform
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

import onnxruntime as ort

from .. import native
from ..contract import METADATA_KEY, Metadata
from ..errors import ModelError

_PROCESSOR = ("model name", "flags", "Features", "CPU implementer", "CPU part", "CPU variant")
"""Their names in /proc/cpuinfo, on x86 and on ARM."""
AGAIN = "make it again on this device: fastcam export … --prepared"


@functools.cache
def block() -> int | None:
    """The block size of onnxruntime's blocked layout on this processor; None if the library does not know."""
    function = native.find_function("fastcam_block")
    return None if function is None else int(function()) or None


def here() -> str:
    """This device, as prepared files name it: release of onnxruntime, processor, block size."""
    channels = block()
    layout = f" with blocks of {channels}" if channels is not None else ""
    return f"onnxruntime {ort.__version__} on {platform.machine()}{layout}"


@functools.cache
def first_core() -> Mapping[str, str]:
    """What /proc/cpuinfo says of the first core; empty if there is no such file."""
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as file:
            lines = itertools.takewhile(str.strip, file)  # up to the second core
            pairs = (line.split(":", 1) for line in lines if ":" in line)
            return {key.strip(): value.strip() for key, value in pairs}
    except OSError:
        return {}


def processor() -> str:
    """The name and features of the first core; empty if the system does not report them."""
    known = first_core()
    if not known:
        return platform.processor()
    return " ".join(known[key] for key in sorted(known) if key in _PROCESSOR)


def package_version() -> str:
    """The version of fastcam-edge; empty if it is not installed."""
    try:
        return metadata.version("fastcam-edge")
    except metadata.PackageNotFoundError:
        return ""


def check(path: Path, file_metadata: Mapping[str, str], *, compiled: bool, provider_is_cpu: bool) -> None:
    """Refuse a file that was prepared for another device, or for kernels that are not used.

    Raises:
        ModelError: The file cannot run here, or its metadata are damaged.
    """
    text = file_metadata.get(METADATA_KEY)
    prepared = "" if text is None else Metadata.of_file(path, text).prepared
    if why := refusal(prepared, compiled=compiled, provider_is_cpu=provider_is_cpu):
        raise ModelError(f"{path}: {why}")


def refusal(prepared: str, *, compiled: bool, provider_is_cpu: bool) -> str:
    """One line why a prepared file, whose `Metadata.prepared` it is, cannot run here; empty if it can."""
    if not prepared:
        return ""
    if not provider_is_cpu:
        return "prepared for the CPU; use --provider cpu"
    if not compiled:
        return "prepared for compiled kernels; it cannot run without them"
    if not native.usable():
        return f"prepared for compiled kernels; {native.status()}"
    return "" if prepared == here() else f"prepared for {prepared}, this is {here()}; {AGAIN}"
