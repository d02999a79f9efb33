"""One case per rule and form: nodes that compute y from a tap, and the same in torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
import torch.nn.functional as F


@dataclass(frozen=True)
class Case:
    """`nodes` compute y from tap; `reference` does the same in torch."""

    name: str
    nodes: str
    reference: Callable[..., torch.Tensor]
    shape: tuple[int, ...] = (2, 3, 6, 5)
    opset: int = 17
    weights: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Random constants by name; `reference` gets them as keyword arguments."""
    free: bool = True
    """Whether it also works with free height and width."""
    scale: float = 2.0
    values: Callable[[np.ndarray], np.ndarray] = lambda x: x

    @property
    def operators(self) -> set[str]:
        return {
            part.split("(")[0].split("<")[0].strip() for part in self.nodes.replace("\n", ";").split("=")[1:]
        }


def gelu_tanh(x: torch.Tensor) -> torch.Tensor:
    return F.gelu(x, approximate="tanh")


def pixels(x: torch.Tensor) -> torch.Tensor:
    return x.flatten(2).transpose(1, 2)


CASES = [
    # one element
    Case("identity", "y = Identity(tap)", lambda x: x),
    Case("dropout", "y = Dropout(tap)", lambda x: x),
    Case("cast", "d = Cast<to=11>(tap)\n y = Cast<to=1>(d)", lambda x: x),
    Case("relu", "y = Relu(tap)", F.relu),
    Case("leaky_relu", "y = LeakyRelu<alpha=0.2>(tap)", lambda x: F.leaky_relu(x, 0.2)),
    Case("leaky_relu_default", "y = LeakyRelu(tap)", lambda x: F.leaky_relu(x, 0.01)),
    Case("leaky_relu_negative", "y = LeakyRelu<alpha=-0.5>(tap)", lambda x: F.leaky_relu(x, -0.5)),
    Case("prelu", "y = PRelu(tap, slope)", lambda x, slope: torch.where(x > 0, x, x * slope),
         weights={"slope": (3, 1, 1)}),
    Case("thresholded_relu", "y = ThresholdedRelu<alpha=0.5>(tap)", lambda x: F.threshold(x, 0.5, 0.0)),
    Case("clip", "lo = Constant<value_float=-0.5>()\n hi = Constant<value_float=1.5>()\n"
         " y = Clip(tap, lo, hi)",
         lambda x: F.hardtanh(x, -0.5, 1.5)),
    Case("clip_low", "lo = Constant<value_float=0.25>()\n y = Clip(tap, lo)", lambda x: x.clamp(min=0.25)),
    Case("clip_high", "hi = Constant<value_float=0.25>()\n y = Clip(tap, , hi)", lambda x: x.clamp(max=0.25)),
    Case("hard_sigmoid", "y = HardSigmoid<alpha=0.1666667,beta=0.5>(tap)", F.hardsigmoid, scale=4.0),
    Case("hard_swish", "y = HardSwish(tap)", F.hardswish, scale=4.0),
    Case("sigmoid", "y = Sigmoid(tap)", torch.sigmoid),
    Case("silu", "s = Sigmoid(tap)\n y = Mul(tap, s)", F.silu),
    Case("swish", "y = Swish<alpha=1.5>(tap)", lambda x: x * torch.sigmoid(1.5 * x), opset=24),
    Case("tanh", "y = Tanh(tap)", torch.tanh),
    Case("gelu", "y = Gelu(tap)", F.gelu, opset=20),
    Case("gelu_tanh", 'y = Gelu<approximate="tanh">(tap)', gelu_tanh, opset=20),
    Case("gelu_by_erf", "r = Constant<value_float=1.41421356>()\n half = Constant<value_float=0.5>()\n"
         " one = Constant<value_float=1.0>()\n a = Div(tap, r)\n b = Erf(a)\n c = Add(b, one)\n"
         " d = Mul(tap, c)\n"
         " y = Mul(d, half)", F.gelu),
    Case("elu", "y = Elu<alpha=0.7>(tap)", lambda x: F.elu(x, 0.7)),
    Case("selu", "y = Selu(tap)", F.selu),
    Case("celu", "y = Celu<alpha=0.7>(tap)", lambda x: F.celu(x, 0.7)),
    Case("softplus", "y = Softplus(tap)", F.softplus),
    Case("softsign", "y = Softsign(tap)", F.softsign),
    Case("mish", "y = Mish(tap)", F.mish, opset=18),
    Case("exp", "y = Exp(tap)", torch.exp),
    Case("log", "y = Log(tap)", torch.log, values=lambda x: np.abs(x) + 0.5),
    Case("sqrt", "y = Sqrt(tap)", torch.sqrt, values=lambda x: np.abs(x) + 0.5),
    Case("reciprocal", "y = Reciprocal(tap)", lambda x: 1 / x, values=lambda x: np.abs(x) + 0.5),
    Case("neg", "y = Neg(tap)", lambda x: -x),
    Case("abs", "y = Abs(tap)", torch.abs),
    # several elements, broadcasting
    Case("add_constant", "y = Add(tap, b)", lambda x, b: x + b, weights={"b": (3, 1, 1)}),
    Case("add_larger", "p = GlobalAveragePool(tap)\n y = Add(p, b)",
         lambda x, b: x.mean((2, 3), keepdim=True) + b, weights={"b": (1, 3, 4, 2)}),
    Case("add_higher_rank", "m = ReduceMean<axes=[0,2,3],keepdims=0>(tap)\n"
         " r = Constant<value_ints=[3,1,1]>()\n"
         " v = Reshape(m, r)\n y = Add(tap, v)",
         lambda x: x + x.mean((0, 2, 3))[:, None, None], shape=(1, 3, 6, 5)),
    Case("residual", "r = Relu(tap)\n y = Add(tap, r)", lambda x: x + F.relu(x)),
    Case("sum", "r = Relu(tap)\n y = Sum(tap, r, b)", lambda x, b: x + F.relu(x) + b,
         weights={"b": (3, 1, 1)}),
    Case("sub", "y = Sub(tap, b)", lambda x, b: x - b, weights={"b": (3, 1, 1)}),
    Case("sub_from", "y = Sub(b, tap)", lambda x, b: b - x, weights={"b": (3, 1, 1)}),
    Case("centre", "m = ReduceMean<axes=[2,3]>(tap)\n y = Sub(tap, m)",
         lambda x: x - x.mean((2, 3), keepdim=True)),
    Case("mul", "y = Mul(tap, b)", lambda x, b: x * b, weights={"b": (3, 1, 1)}),
    Case("square", "y = Mul(tap, tap)", lambda x: x * x),
    Case("gate", "m = GlobalAveragePool(tap)\n s = Sigmoid(m)\n y = Mul(s, tap)",
         lambda x: x * x.mean((2, 3), keepdim=True).sigmoid()),
    Case("div", "y = Div(tap, b)", lambda x, b: x / b, weights={"b": (3, 1, 1)}),
    Case("div_by", "y = Div(b, tap)", lambda x, b: b / x, weights={"b": (3, 1, 1)},
         values=lambda x: np.abs(x) + 0.5),
    Case("div_data", "e = Exp(tap)\n a = Constant<value_ints=[1]>()\n m = ReduceSum(e, a)\n y = Div(e, m)",
         lambda x: x.exp() / x.exp().sum(1, keepdim=True)),
    Case("pow_2", "p = Constant<value_float=2.0>()\n y = Pow(tap, p)", lambda x: x**2),
    Case("pow", "p = Constant<value_float=1.5>()\n y = Pow(tap, p)", lambda x: x**1.5,
         values=lambda x: np.abs(x) + 0.5),
    Case("max", "z = Constant<value_float=0.3>()\n y = Max(tap, z)", lambda x: x.clamp(min=0.3)),
    Case("min", "n = Neg(tap)\n y = Min(tap, n)", lambda x: torch.minimum(x, -x)),
    Case("where", "z = Constant<value_float=0.3>()\n c = Greater(tap, z)\n n = Tanh(tap)\n"
         " y = Where(c, n, tap)",
         lambda x: torch.where(x > 0.3, x.tanh(), x)),
    Case("einsum_head", 'y = Einsum<equation="nchw,kc->nk">(tap, w)',
         lambda x, w: torch.einsum("nchw,kc->nk", x, w), weights={"w": (5, 3)}),
    Case("einsum_implicit", 'y = Einsum<equation="achw, kc">(tap, w)',
         lambda x, w: torch.einsum("achw,kc", x, w), weights={"w": (5, 3)}),
    Case("einsum_second", 'y = Einsum<equation="kc,nchw->nhkw">(w, tap)',
         lambda x, w: torch.einsum("kc,nchw->nhkw", w, x), weights={"w": (5, 3)}),
    Case("einsum_three", 'y = Einsum<equation="kc,nchw,wj->nkj">(w, tap, v)',
         lambda x, w, v: torch.einsum("kc,nchw,wj->nkj", w, x, v), weights={"w": (5, 3), "v": (5, 2)}),
    # onnxruntime 1.21 cannot run a sum and a permutation in one Einsum of one operand.
    Case("einsum_sum", 'y = Einsum<equation="nchw->ncw">(tap)', lambda x: x.sum(2)),
    Case("einsum_turned", 'y = Einsum<equation="nchw->nwch">(tap)', lambda x: x.permute(0, 3, 1, 2)),
    Case("einsum_twice", 'r = Tanh(tap)\n y = Einsum<equation="nchw,ndhw->ncd">(tap, r)',
         lambda x: torch.einsum("nchw,ndhw->ncd", x, x.tanh())),
    Case("reduce_log_sum_exp", "a = Constant<value_ints=[2,3]>()\n y = ReduceLogSumExp<keepdims=0>(tap, a)",
         lambda x: x.logsumexp((2, 3)), opset=18),
    Case("reduce_log_sum_exp_kept", "y = ReduceLogSumExp<axes=[1]>(tap)",
         lambda x: x.logsumexp(1, keepdim=True)),
    # layers
    Case("conv_1x1", "y = Conv(tap, w)", lambda x, w: F.conv2d(x, w), weights={"w": (5, 3, 1, 1)}),
    Case("conv", "y = Conv<pads=[1,1,1,1]>(tap, w, b)", lambda x, w, b: F.conv2d(x, w, b, padding=1),
         weights={"w": (5, 3, 3, 3), "b": (5,)}),
    Case("conv_strides", "y = Conv<strides=[2,3],pads=[1,0,1,0]>(tap, w)",
         lambda x, w: F.conv2d(x, w, stride=(2, 3), padding=(1, 0)), shape=(2, 3, 8, 9),
         weights={"w": (5, 3, 3, 2)}),
    Case("conv_uneven_pads", "y = Conv<strides=[2,2],pads=[0,1,2,1]>(tap, w)",
         lambda x, w: F.conv2d(F.pad(x, (1, 1, 0, 2)), w, stride=2), weights={"w": (5, 3, 3, 3)}),
    Case("conv_depthwise", "y = Conv<group=3,pads=[1,1,1,1],strides=[2,2]>(tap, w)",
         lambda x, w: F.conv2d(x, w, padding=1, stride=2, groups=3), weights={"w": (6, 1, 3, 3)}),
    Case("conv_groups", "y = Conv<group=2>(tap, w)", lambda x, w: F.conv2d(x, w, groups=2),
         shape=(2, 4, 6, 5), weights={"w": (6, 2, 3, 3)}),
    Case("conv_dilated", "y = Conv<dilations=[2,1],pads=[2,0,2,0]>(tap, w)",
         lambda x, w: F.conv2d(x, w, dilation=(2, 1), padding=(2, 0)), weights={"w": (5, 3, 3, 3)}),
    Case("conv_same_upper", 'y = Conv<auto_pad="SAME_UPPER",strides=[2,2]>(tap, w)',
         lambda x, w: F.conv2d(F.pad(x, (1, 1, 0, 1)), w, stride=2), weights={"w": (5, 3, 3, 3)}, free=False),
    Case("conv_same_lower", 'y = Conv<auto_pad="SAME_LOWER">(tap, w)',
         lambda x, w: F.conv2d(F.pad(x, (1, 0, 1, 0)), w), weights={"w": (5, 3, 2, 2)}),
    Case("conv_valid", 'y = Conv<auto_pad="VALID">(tap, w)', lambda x, w: F.conv2d(x, w),
         weights={"w": (5, 3, 2, 2)}),
    Case("batch_norm", "v = Abs(q)\n y = BatchNormalization<epsilon=0.001>(tap, s, b, m, v)",
         lambda x, s, b, m, q: F.batch_norm(x, m, q.abs(), s, b, eps=1e-3),
         weights={"s": (3,), "b": (3,), "m": (3,), "q": (3,)}),
    Case("matmul_pixels", "s = Constant<value_ints=[0,3,-1]>()\n r = Reshape(tap, s)\n"
         " t = Transpose<perm=[0,2,1]>(r)\n y = MatMul(t, w)", lambda x, w: pixels(x) @ w,
         weights={"w": (3, 4)}),
    Case("matmul_data", "s = Constant<value_ints=[0,3,-1]>()\n r = Reshape(tap, s)\n"
         " t = Transpose<perm=[0,2,1]>(r)\n y = MatMul(r, t)", lambda x: x.flatten(2) @ pixels(x)),
    Case("matmul_left", "s = Constant<value_ints=[0,3,-1]>()\n r = Reshape(tap, s)\n y = MatMul(w, r)",
         lambda x, w: w @ x.flatten(2), weights={"w": (4, 3)}),
    Case("matmul_broadcast", "m = ReduceMean<axes=[1]>(tap)\n t = Transpose<perm=[0,1,3,2]>(tap)\n"
         " y = MatMul(m, t)", lambda x: x.mean(1, keepdim=True) @ x.transpose(2, 3)),
    # pooling
    Case("global_average_pool", "y = GlobalAveragePool(tap)", lambda x: x.mean((2, 3))),
    Case("global_max_pool", "y = GlobalMaxPool(tap)", lambda x: F.adaptive_max_pool2d(x, 1)),
    Case("global_max_pool_ties", "y = GlobalMaxPool(tap)", lambda x: F.adaptive_max_pool2d(x, 1),
         values=lambda x: np.round(x)),
    Case("average_pool", "y = AveragePool<kernel_shape=[2,3]>(tap)", lambda x: F.avg_pool2d(x, (2, 3), 1)),
    Case("average_pool_strides", "y = AveragePool<kernel_shape=[2,2],strides=[2,2]>(tap)",
         lambda x: F.avg_pool2d(x, 2)),
    Case("average_pool_whole", "y = AveragePool<kernel_shape=[6,5]>(tap)", lambda x: F.avg_pool2d(x, (6, 5))),
    Case("average_pool_one", "y = AveragePool<kernel_shape=[1,1]>(tap)", lambda x: x),
    Case("average_pool_include", "y = AveragePool<kernel_shape=[3,3],strides=[2,2],pads=[1,1,1,1],"
         "count_include_pad=1>(tap)", lambda x: F.avg_pool2d(x, 3, 2, 1)),
    Case("average_pool_exclude", "y = AveragePool<kernel_shape=[3,3],strides=[2,2],pads=[1,1,1,1]>(tap)",
         lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), free=False),
    Case("average_pool_ceil", "y = AveragePool<kernel_shape=[3,3],strides=[2,2],ceil_mode=1>(tap)",
         lambda x: F.avg_pool2d(x, 3, 2, ceil_mode=True), free=False),
    Case("max_pool", "y = MaxPool<kernel_shape=[2,2],strides=[2,2]>(tap)", lambda x: F.max_pool2d(x, 2)),
    Case("max_pool_overlapping", "y = MaxPool<kernel_shape=[3,3],strides=[2,2]>(tap)",
         lambda x: F.max_pool2d(x, 3, 2), shape=(2, 3, 9, 7)),
    Case("max_pool_pads", "y = MaxPool<kernel_shape=[3,3],strides=[2,2],pads=[1,1,1,1]>(tap)",
         lambda x: F.max_pool2d(x, 3, 2, 1)),
    Case("max_pool_ceil", "y = MaxPool<kernel_shape=[3,2],strides=[2,2],ceil_mode=1>(tap)",
         lambda x: F.max_pool2d(x, (3, 2), 2, ceil_mode=True)),
    Case("max_pool_dilated", "y = MaxPool<kernel_shape=[2,2],dilations=[2,3]>(tap)",
         lambda x: F.max_pool2d(x, 2, 1, dilation=(2, 3))),
    Case("max_pool_ties", "y = MaxPool<kernel_shape=[3,3],strides=[2,2],pads=[1,1,1,1]>(tap)",
         lambda x: F.max_pool2d(x, 3, 2, 1), values=lambda x: np.maximum(np.round(x), 0)),
    # form
    Case("flatten", "y = Flatten(tap)", lambda x: x.flatten(1)),
    Case("reshape", "s = Constant<value_ints=[0,-1,3]>()\n y = Reshape(tap, s)",
         lambda x: x.reshape(len(x), -1, 3)),
    Case("reshape_computed", "s = Shape(tap)\n z = Constant<value_int=0>()\n n = Gather(s, z)\n"
         " a = Constant<value_ints=[0]>()\n m = Unsqueeze(n, a)\n k = Constant<value_ints=[-1]>()\n"
         " t = Concat<axis=0>(m, k)\n y = Reshape(tap, t)", lambda x: x),
    Case("squeeze", "p = GlobalAveragePool(tap)\n a = Constant<value_ints=[2,3]>()\n y = Squeeze(p, a)",
         lambda x: x.mean((2, 3))),
    Case("unsqueeze", "a = Constant<value_ints=[2]>()\n y = Unsqueeze(tap, a)", lambda x: x),
    Case("transpose", "y = Transpose<perm=[0,3,1,2]>(tap)", lambda x: x.permute(0, 3, 1, 2)),
    Case("concat", "r = Relu(tap)\n t = Tanh(tap)\n y = Concat<axis=1>(r, tap, t)",
         lambda x: torch.cat([x.relu(), x, x.tanh()], 1)),
    Case("concat_negative", "r = Relu(tap)\n y = Concat<axis=-3>(tap, r)",
         lambda x: torch.cat([x, x.relu()], 1)),
    Case("split", "p = Constant<value_ints=[1,2]>()\n a, b = Split<axis=1>(tap, p)\n m = Relu(b)\n"
         " y = Concat<axis=1>(m, a)", lambda x: torch.cat([x[:, 1:].relu(), x[:, :1]], 1)),
    Case("split_one_used", "p = Constant<value_ints=[1,2]>()\n a, b = Split<axis=1>(tap, p)\n y = Relu(b)",
         lambda x: x[:, 1:].relu()),
    Case("slice", "s = Constant<value_ints=[1,-3]>()\n e = Constant<value_ints=[3,9223372036854775807]>()\n"
         " a = Constant<value_ints=[1,2]>()\n y = Slice(tap, s, e, a)", lambda x: x[:, 1:3, -3:], free=False),
    Case("slice_front", "s = Constant<value_ints=[1]>()\n e = Constant<value_ints=[-1]>()\n"
         " a = Constant<value_ints=[-1]>()\n y = Slice(tap, s, e, a)", lambda x: x[..., 1:-1]),
    Case("gather", "i = Constant<value_int=-1>()\n y = Gather<axis=1>(tap, i)", lambda x: x[:, -1]),
    Case("gather_several", "i = Constant<value: tensor = int64[2,3] {0, 2, 2, 2, 0, -3}>()\n"
         " y = Gather<axis=1>(tap, i)", lambda x: x[:, [0, 2, 2, 2, 0, 0]]),
    Case("gather_nd", "t = Transpose<perm=[2,3,0,1]>(tap)\n"
         " i = Constant<value: tensor = int64[3,2] {0, 4, 5, -1, 0, 4}>()\n u = GatherND(t, i)\n"
         " y = Transpose<perm=[1,2,0]>(u)", lambda x: x[:, :, [0, 5, 0], [4, 4, 4]], free=False),
    # as tensors: onnx 1.18 infers no shape behind pads of `value_ints`; an export then observes it in a run
    Case("pad", "p = Constant<value: tensor = int64[8] {0,1,2,0,0,0,1,3}>()\n y = Pad(tap, p)",
         lambda x: F.pad(x, (0, 3, 2, 1, 1, 0))),
    Case("pad_axes", "p = Constant<value: tensor = int64[4] {1,2,3,0}>()\n v = Constant<value_float=1.0>()\n"
         " a = Constant<value: tensor = int64[2] {2,-1}>()\n y = Pad(tap, p, v, a)",
         lambda x: F.pad(x, (2, 0, 1, 3), value=1.0), opset=18),
    Case("expand", "p = GlobalAveragePool(tap)\n s = Constant<value_ints=[1,1,4,2]>()\n y = Expand(p, s)",
         lambda x: x.mean((2, 3), keepdim=True).expand(-1, -1, 4, 2)),
    # reductions
    Case("reduce_mean", "y = ReduceMean<axes=[-1,-2],keepdims=0>(tap)", lambda x: x.mean((2, 3))),
    Case("reduce_mean_input", "a = Constant<value_ints=[2,3]>()\n y = ReduceMean(tap, a)",
         lambda x: x.mean((2, 3)), opset=18),
    Case("reduce_mean_all", "m = ReduceMean(tap)\n y = Add(tap, m)", lambda x: x + x.mean(),
         shape=(1, 3, 6, 5)),
    Case("reduce_sum", "a = Constant<value_ints=[1]>()\n y = ReduceSum<keepdims=0>(tap, a)",
         lambda x: x.sum(1)),
    Case("reduce_max", "y = ReduceMax<axes=[2,3]>(tap)", lambda x: x.amax((2, 3))),
    Case("reduce_max_ties", "y = ReduceMax<axes=[2,3]>(tap)", lambda x: x.amax((2, 3)), values=np.round),
    Case("reduce_min", "y = ReduceMin<axes=[1],keepdims=0>(tap)", lambda x: x.amin(1)),
    Case("reduce_l2", "y = ReduceL2<axes=[1]>(tap)", lambda x: x.norm(dim=1)),
    Case("softmax", "y = Softmax<axis=1>(tap)", lambda x: x.softmax(1)),
    Case("log_softmax", "y = LogSoftmax(tap)", lambda x: x.log_softmax(-1)),
    # normalisations
    Case("layer_norm", "t = Transpose<perm=[0,2,3,1]>(tap)\n y = LayerNormalization<epsilon=0.01>(t, s, b)",
         lambda x, s, b: F.layer_norm(x.permute(0, 2, 3, 1), (3,), s, b, 0.01),
         weights={"s": (3,), "b": (3,)}),
    Case("layer_norm_axis", "y = LayerNormalization<axis=1>(tap, s)",
         lambda x, s: F.layer_norm(x, (3, 6, 5), s), weights={"s": (3, 6, 5)}),
    Case("layer_norm_by_parts", "m = ReduceMean<axes=[1]>(tap)\n d = Sub(tap, m)\n"
         " p = Constant<value_float=2.0>()\n"
         " q = Pow(d, p)\n v = ReduceMean<axes=[1]>(q)\n e = Constant<value_float=0.01>()\n w = Add(v, e)\n"
         " r = Sqrt(w)\n y = Div(d, r)",
         lambda x: F.layer_norm(x.permute(0, 2, 3, 1), (3,), eps=0.01).permute(0, 3, 1, 2)),
    Case("instance_norm", "y = InstanceNormalization<epsilon=0.01>(tap, s, b)",
         lambda x, s, b: F.instance_norm(x, weight=s, bias=b, eps=0.01), weights={"s": (3,), "b": (3,)}),
    Case("lrn", "y = LRN<size=3,alpha=0.3,beta=0.75,bias=1.2>(tap)",
         lambda x: F.local_response_norm(x, 3, 0.3, 0.75, 1.2), shape=(2, 6, 3, 2)),
    # quantisation: straight through
    Case("qdq", "s = Constant<value_float=0.01>()\n z = Constant<value: tensor = int8 {5}>()\n"
         " q = QuantizeLinear(tap, s, z)\n y = DequantizeLinear(q, s, z)",
         lambda x: x, values=lambda x: x.clip(-1, 1)),
    Case("qdq_from_zero", "s = Constant<value_float=0.01>()\n z = Constant<value: tensor = uint8 {0}>()\n"
         " r = Relu(tap)\n q = QuantizeLinear(r, s, z)\n y = DequantizeLinear(q, s, z)", F.relu),
    Case("qdq_as_relu", "s = Constant<value_float=0.01>()\n z = Constant<value: tensor = uint8 {0}>()\n"
         " c = Conv(tap, w)\n q = QuantizeLinear(c, s, z)\n i = Cast<to=2>(q)\n"
         " y = DequantizeLinear(i, s, z)", lambda x, w: F.relu(F.conv2d(x, w)), weights={"w": (5, 3, 1, 1)}),
]  # fmt: skip
