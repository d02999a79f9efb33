"""Which execution provider runs the network: `cpu`, `cuda`, `openvino`…, or `auto`."""

from __future__ import annotations

import onnxruntime as ort

from ..errors import FastcamError, closest

CPU = "CPUExecutionProvider"

NAMES = {
    "cpu": CPU,
    "cuda": "CUDAExecutionProvider",
    "tensorrt": "TensorrtExecutionProvider",
    "nvtensorrtrtx": "NvTensorRTRTXExecutionProvider",
    "rocm": "ROCMExecutionProvider",
    "migraphx": "MIGraphXExecutionProvider",
    "openvino": "OpenVINOExecutionProvider",
    "coreml": "CoreMLExecutionProvider",
    "directml": "DmlExecutionProvider",
    "qnn": "QNNExecutionProvider",
    "xnnpack": "XnnpackExecutionProvider",
    "acl": "ACLExecutionProvider",
    "armnn": "ArmNNExecutionProvider",
    "dnnl": "DnnlExecutionProvider",
    "nnapi": "NnapiExecutionProvider",
    "vitisai": "VitisAIExecutionProvider",
    "webgpu": "WebGpuExecutionProvider",
    "cann": "CANNExecutionProvider",
    "rknpu": "RknpuExecutionProvider",
}

AUTO = ("cuda", "migraphx", "rocm", "coreml", "directml", "openvino", "cpu")
"""The providers that `auto` tries, in this order. TensorRT is not among them because it compiles for minutes
at its first start, the others because onnxruntime's CPU kernels are rarely slower: name them explicitly."""


def available() -> tuple[str, ...]:
    """The short names of the providers in the installed onnxruntime."""
    offered = ort.get_available_providers()
    return tuple(short for short, name in NAMES.items() if name in offered)


def choose(provider: str = "auto") -> tuple[str, ...]:
    """The onnxruntime names for `provider`, the CPU last as the fallback.

    Raises:
        FastcamError: The installed onnxruntime does not offer it; the message lists what it offers.
    """
    offered = available()
    asked = provider.lower()
    if asked == "auto":
        asked = next((name for name in AUTO if name in offered), "cpu")
    elif asked not in offered:
        full = {name.lower(): short for short, name in NAMES.items()}
        asked = full.get(asked, asked)
    if asked not in offered:
        what = "is not in the installed onnxruntime" if asked in NAMES else "is unknown"
        hint = "" if asked in NAMES else closest(asked, NAMES)
        raise FastcamError(f"provider {provider!r} {what}; available: auto, {', '.join(offered)}{hint}")
    return (NAMES[asked],) if asked == "cpu" else (NAMES[asked], CPU)


def short_name(provider: str) -> str:
    """`cpu` for `CPUExecutionProvider`, and so on."""
    return next((short for short, name in NAMES.items() if name == provider), provider)
