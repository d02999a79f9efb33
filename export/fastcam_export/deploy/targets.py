"""The operators of each target: those of its published list that a saliency branch could use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_COMMON = """
Add AveragePool Cast Clip Concat Conv Div Elu Exp Gemm GlobalAveragePool GlobalMaxPool Identity
MatMul Max MaxPool Mul PRelu Pow Relu Reshape Resize Sigmoid Sin Slice Softmax Sqrt Squeeze Sub Tanh
Transpose Unsqueeze
"""
_NNAPI = """
Abs DepthToSpace DequantizeLinear Flatten Floor Gather LeakyRelu Log Min Neg Pad QuantizeLinear
"""
_COREML = """
And ArgMax Ceil ConvTranspose Cos DepthToSpace Erf GatherND Gelu GroupNormalization HardSigmoid
InstanceNormalization LayerNormalization LeakyRelu ReduceMax ReduceMean ReduceSum Round Shape
Softplus Split Tile Where
"""
_QNN = """
Abs And ArgMax ArgMin Cos DepthToSpace DequantizeLinear Equal Expand Flatten Floor Gather Gelu
Greater GreaterOrEqual HardSwish InstanceNormalization LayerNormalization LeakyRelu Less LessOrEqual
Log Min Neg Not Or Pad QuantizeLinear ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum Round Sign
Split Tile TopK Where
"""


def _words(*lists: str) -> frozenset[str]:
    return frozenset(" ".join(lists).split())


@dataclass(frozen=True)
class Target:
    """An accelerator, and where its list is published."""

    operators: frozenset[str] | None
    """None: it supports all operators that a branch uses."""
    source: str
    fixed_batch: bool = True
    fuses: bool = False
    """It computes a chain of elementwise operators in one pass."""


TARGETS: Mapping[str, Target] = {
    "nnapi": Target(
        _words(_COMMON, _NNAPI),
        "onnxruntime, tools/ci_build/github/android/nnapi_supported_ops.md, commit 666fcbd",
    ),
    "coreml": Target(
        _words(_COMMON, _COREML),
        "onnxruntime, tools/ci_build/github/apple/coreml_supported_mlprogram_ops.md, commit 073e49f",
    ),
    "qnn": Target(
        _words(_COMMON, _QNN), "onnxruntime, docs/execution-providers/QNN-ExecutionProvider.md, from 1.18 on"
    ),
    "tensorrt": Target(None, "onnx-tensorrt, docs/operators.md, commit 009d654, TensorRT 8.4"),
    "openvino": Target(None, "OpenVINO 2026.4, measured", fuses=True),
    "web": Target(None, "onnxruntime-web 1.30.0, measured", fixed_batch=False),
}
