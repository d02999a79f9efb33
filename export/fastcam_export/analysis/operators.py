"""The table of operator facts: what the analysis and the gradients need to know, one row per operator.

To support a new operator, add its row; `tests/export/analysis/test_operators.py` checks the facts
by running the operators. Rows are found by name alone: onnxruntime's own domain uses the names of ONNX for
the same functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import onnx_ir as ir


class Sign(Enum):
    """What is known about the sign of a result."""

    NON_NEGATIVE = "never negative"
    SIGNED = "an activation that lets negative values through"
    OF_INPUT = "that of the first input"
    OF_INPUTS = "negative only where an input is"


@dataclass(frozen=True)
class Operator:
    """The facts about one operator. The defaults are safe for an unknown operator."""

    name: str
    sign: Sign | None = None
    activation: bool = False
    """An activation function of its first input, which may be a tensor of features."""
    elementwise: bool = False
    """The same function of one element of the first input gives each element of the result."""
    upper_bound: float | None = None
    """An upper bound of the result."""
    keeps_bound: bool = False
    """An upper bound of the first input is one of the result too, if the input is non-negative."""
    copies: bool = False
    """The result is the first input, perhaps in another number format."""
    reshapes: bool = False
    """The result has the elements of the first input in the same order, in another shape."""
    in_order: bool = False
    """Each element of the result belongs to the same element of the first input, whose shape it has."""
    per_pixel: bool = False
    """Each pixel of the result depends on the same pixel of the first input."""
    cuts: bool = False
    """It may leave out pixels. A Pad does if its pads are negative."""
    pools: bool = False
    """Each element of the result summarises a window of the first input, channel by channel."""
    strides: bool = False
    """It slides a window over an N×C×H×W input, with its own strides."""
    convolution: bool = False
    integer: bool = False
    """It computes integers from integers."""
    weight_input: int | None = None
    """The input with a convolution's weights: filters × channels per group × h × w."""
    matrix_product: bool = False
    mixes: bool = False
    """It computes an element from many elements of one input."""
    fuses_activation: bool = False
    """onnxruntime's optimiser may have put an activation into it, which its attributes name."""
    absorbs_relu: bool = False
    """Quantisers leave out the ReLU behind it where the integers start at zero."""
    scores_are: str | None = None
    """The meaning of class scores that it computes. The softmax of log-probabilities is the probabilities, so
    log-probabilities count as logits."""
    shape_only: bool = False
    """It reads only the shape of a tensor, not its content."""
    has_gradient: bool = True
    """False for a piecewise constant function."""
    half_is_float32: bool = False
    """onnxruntime has no half-precision kernel for the CPU and computes it in float32."""

    @property
    def rearranges(self) -> bool:
        """Whether the elements of the result are those of the first input, in another shape or order."""
        return self.copies or self.reshapes or self.name == "Transpose"


def _activation(name: str, sign: Sign, bound: float | None = None, elementwise: bool = True) -> Operator:
    return Operator(name, sign=sign, activation=True, elementwise=elementwise, upper_bound=bound)


def _constant(name: str) -> Operator:
    return Operator(name, has_gradient=False)


_POSITIVE, _SIGNED, _SAME, _ALL = Sign.NON_NEGATIVE, Sign.SIGNED, Sign.OF_INPUT, Sign.OF_INPUTS

_ROWS = (
    # Activation functions
    _activation("Relu", _POSITIVE),
    Operator(
        "Sigmoid", _POSITIVE, activation=True, elementwise=True, upper_bound=1.0, scores_are="probabilities"
    ),
    _activation("HardSigmoid", _POSITIVE, 1.0),
    _activation("Softplus", _POSITIVE),
    _activation("Abs", _POSITIVE),
    _activation("Exp", _POSITIVE),
    _activation("LeakyRelu", _SIGNED),
    _activation("PRelu", _SIGNED, elementwise=False),  # a slope for each channel
    _activation("Elu", _SIGNED),
    _activation("Selu", _SIGNED),
    _activation("Celu", _SIGNED),
    _activation("HardSwish", _SIGNED),
    _activation("Swish", _SIGNED),
    _activation("Mish", _SIGNED),
    _activation("Gelu", _SIGNED),
    _activation("FastGelu", _SIGNED, elementwise=False),  # may have a bias
    _activation("QuickGelu", _SIGNED),
    _activation("BiasGelu", _SIGNED, elementwise=False),
    _activation("Tanh", _SIGNED, 1.0),
    _activation("Softsign", _SIGNED, 1.0),
    Operator("Softmax", _POSITIVE, activation=True, upper_bound=1.0, mixes=True, scores_are="probabilities"),
    Operator("LogSoftmax", mixes=True, scores_are="logits"),
    # The sign of these two depends on their limits; see `activations`.
    Operator("Clip", activation=True, elementwise=True),
    Operator("ThresholdedRelu", elementwise=True),
    # Copies, and other arrangements of the same elements
    Operator("Identity", _SAME, elementwise=True, keeps_bound=True, copies=True),
    Operator("Dropout", _SAME, elementwise=True, keeps_bound=True, copies=True),
    Operator("Cast", _SAME, elementwise=True, copies=True),
    Operator("QuantizeLinear", elementwise=True, copies=True),
    Operator("DequantizeLinear", _SAME, elementwise=True, copies=True),
    Operator("Reshape", _SAME, reshapes=True),
    Operator("Flatten", _SAME, reshapes=True),
    Operator("Squeeze", _SAME, reshapes=True),
    Operator("Unsqueeze", _SAME, reshapes=True),
    Operator("Transpose", _SAME),
    Operator("DepthToSpace", _SAME),
    Operator("SpaceToDepth", _SAME),
    # Parts and repetitions
    Operator("Slice", _SAME, cuts=True),
    Operator("Split", _SAME, cuts=True),
    Operator("Gather", _SAME, cuts=True),
    Operator("Pad", cuts=True),
    Operator("Expand", _SAME),
    Operator("Tile", _SAME),
    Operator("Resize", _SAME),
    Operator("Upsample", _SAME),
    Operator("Concat", _ALL),
    # Pooling
    Operator("MaxPool", _SAME, keeps_bound=True, pools=True, strides=True, mixes=True),
    Operator(
        "AveragePool", _SAME, keeps_bound=True, pools=True, strides=True, mixes=True, half_is_float32=True
    ),
    Operator("LpPool", _SAME, pools=True, strides=True, mixes=True),
    Operator("GlobalAveragePool", _SAME, keeps_bound=True, pools=True, mixes=True, half_is_float32=True),
    Operator("GlobalMaxPool", _SAME, keeps_bound=True, pools=True, mixes=True),
    Operator("ReduceMean", mixes=True, half_is_float32=True),
    # Convolutions and other layers with weights
    Operator(
        "Conv", convolution=True, strides=True, mixes=True, weight_input=1, absorbs_relu=True,
        half_is_float32=True,
    ),
    Operator("FusedConv", convolution=True, strides=True, mixes=True, weight_input=1, fuses_activation=True),
    Operator("ConvTranspose", convolution=True, strides=True, mixes=True, absorbs_relu=True),
    Operator("DeformConv", convolution=True, mixes=True),
    Operator("ConvInteger", convolution=True, strides=True, mixes=True, integer=True),
    Operator("MatMulInteger", mixes=True, integer=True),
    Operator("QLinearConv", convolution=True, strides=True, mixes=True, integer=True),
    Operator("Gemm", mixes=True, absorbs_relu=True, half_is_float32=True),
    Operator("FusedGemm", mixes=True, fuses_activation=True),
    Operator("MatMul", matrix_product=True, mixes=True, absorbs_relu=True, half_is_float32=True),
    Operator("FusedMatMul", matrix_product=True, mixes=True),
    Operator("Einsum", matrix_product=True, mixes=True),
    Operator("BatchNormalization", absorbs_relu=True, in_order=True),
    Operator("InstanceNormalization", in_order=True),
    Operator("LayerNormalization", in_order=True),
    Operator("LRN", _SAME, per_pixel=True),
    # Arithmetic
    Operator("Add", _ALL, absorbs_relu=True, in_order=True),
    Operator("Sub", in_order=True),
    Operator("Mul", in_order=True),
    Operator("Div", in_order=True),
    Operator("Sum", _ALL),
    Operator("Max", _ALL),
    Operator("Min", _ALL),
    Operator("Neg", elementwise=True),
    Operator("Erf", elementwise=True),
    Operator("Log", elementwise=True),
    Operator("Sqrt", elementwise=True),
    Operator("Reciprocal", elementwise=True),
    # Piecewise constant functions
    Operator("Shape", shape_only=True, has_gradient=False),
    Operator("Size", shape_only=True, has_gradient=False),
    *map(_constant, ("ArgMax", "ArgMin", "NonZero", "ConstantOfShape", "Range", "EyeLike", "OneHot")),
    *map(_constant, ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Not", "And", "Or", "Xor")),
    *map(_constant, ("IsNaN", "IsInf", "Sign", "Floor", "Ceil", "Round")),
)  # fmt: skip

OPERATORS = {row.name: row for row in _ROWS}
PROCESSOR_DOMAINS = frozenset({"com.microsoft.nchwc", "com.ms.internal.nhwc"})
PROCESSOR_OPERATORS = frozenset({"NhwcConv", "NhwcFusedConv", "NhwcMaxPool"})
"""onnxruntime's optimiser writes these for the memory layout of one kind of processor."""


def facts(op_type: str) -> Operator:
    """The row of an operator; a row of defaults if it has none."""
    return OPERATORS.get(op_type) or Operator(op_type)


def activation_of(node: ir.Node) -> str:
    """The activation that a node ends in: its operator, or the one that was fused into it ("" for none)."""
    fused = facts(node.op_type).fuses_activation
    return node.attributes.get_string("activation", "") if fused else node.op_type


def fused_limits(node: ir.Node) -> tuple[float, ...] | None:
    """The lower and the upper limit of a Clip that was fused into a node; None where none was."""
    if not facts(node.op_type).fuses_activation:
        return None
    return tuple(node.attributes.get_floats("activation_params", ()))
