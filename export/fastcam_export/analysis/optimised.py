"""Files that onnxruntime's own optimiser has saved: fused operators, and those of one processor only."""

from __future__ import annotations

import onnx
import onnx_ir as ir

from ..errors import GraftError

CONVOLUTIONS = frozenset({"Conv", "FusedConv"})
"""A FusedConv is a convolution with its activation, and perhaps with a sum between the two."""

_ACTIVATING = frozenset({"FusedConv", "FusedGemm"})
_LAYOUT_DOMAINS = frozenset({"com.microsoft.nchwc", "com.ms.internal.nhwc"})
_LAYOUT_OPS = frozenset({"NhwcConv", "NhwcFusedConv", "NhwcMaxPool"})


def activation_of(node: ir.Node) -> str:
    """The activation that a node ends in: its operator, or the one that was fused into it ("" for none)."""
    return node.attributes.get_string("activation", "") if node.op_type in _ACTIVATING else node.op_type


def fused_limits(node: ir.Node) -> tuple[float, ...] | None:
    """The lower and the upper limit of a Clip that was fused into a node; None where none was."""
    if node.op_type not in _ACTIVATING:
        return None
    return tuple(node.attributes.get_floats("activation_params", ()))


def refuse_processor_layout(proto: onnx.ModelProto, name: str) -> None:
    """Refuse a file whose tensors lie in memory as one kind of processor wants them: in blocks of channels.

    Raises:
        GraftError: It is such a file.
    """
    for node in proto.graph.node:
        if node.domain in _LAYOUT_DOMAINS or node.op_type in _LAYOUT_OPS:
            raise GraftError(
                f"{name} is saved in the memory layout of one kind of processor ({node.op_type} of "
                f"{node.domain}), by onnxruntime's optimiser: start from the original file"
            )
