"""Rules of the layers with weights."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from ...analysis.values import known_dims
from ..site import Site, fits_into
from .registry import ANY, rule
from .sliding_window import SlidingWindow, spread_windows, window_of


@rule("Gemm", inputs=3)
def gemm(at: Site) -> ir.Value:
    """y = α·A'·B' + β·C, where ' is the transposition that transA and transB ask for."""
    op, attributes = at.op, at.node.attributes
    alpha, beta = attributes.get_float("alpha", 1.0), attributes.get_float("beta", 1.0)
    trans_a, trans_b = attributes.get_int("transA", 0), attributes.get_int("transB", 0)
    a, b, g = at.input(0), at.input(1), at.g
    if at.index == 0 and not trans_a:
        result = op.Gemm(g, b, alpha=alpha, transB=1 - trans_b)
    elif at.index == 0:
        result = op.Gemm(b, g, alpha=alpha, transA=trans_b, transB=1)
    elif at.index == 1 and not trans_b:
        result = op.Gemm(a, g, alpha=alpha, transA=1 - trans_a)
    elif at.index == 1:
        result = op.Gemm(g, a, alpha=alpha, transA=1, transB=trans_a)
    else:
        result = _sum_to_bias(at, op.Mul(g, beta))
    return result


def _sum_to_bias(at: Site, g: ir.Value) -> ir.Value:
    """Sum `g` to the shape of C, which broadcasts to the shape of the product; A and B do not broadcast."""
    dims = known_dims(at.node.outputs[0])
    if dims is not None and dims == known_dims(at.source) and None not in dims:
        return g
    raise at.refuse("its C depends on the picture and is broadcast")


@rule("MatMul", inputs=2)
def matmul(at: Site) -> ir.Value:
    """g·Bᵀ to A, Aᵀ·g to B, with batch dimensions summed where they were broadcast."""
    op, a, b = at.op, at.node.inputs[0], at.node.inputs[1]
    ranks = [None if v is None or v.shape is None else len(v.shape) for v in (a, b)]
    if None in ranks or 1 in ranks:
        raise at.refuse("the rank of an operand is 1 or unknown")
    if ranks == [2, 2]:
        if at.index == 0:
            return op.Gemm(at.g, at.input(1), transB=1)
        return op.Gemm(at.input(0), at.g, transA=1)
    perm = list(range((ranks[1 - at.index] or 0) - 2))
    perm += [len(perm) + 1, len(perm)]
    other = op.Transpose(at.input(1 - at.index), perm=perm)
    return _sum_batch(at, op.MatMul(at.g, other) if at.index == 0 else op.MatMul(other, at.g))


def _sum_batch(at: Site, g: ir.Value) -> ir.Value:
    """Sum over the batch dimensions that `x` does not have or has as 1."""
    a, b = (list(v.shape)[:-2] for v in at.node.inputs if v is not None and v.shape is not None)
    batch, own = (b, a) if at.index == 0 else (a, b)
    if fits_into(batch, own):
        return g
    if not own:
        return at.op.reduce("ReduceSum", g, range(len(batch)), keepdims=False)
    return at.sum_repeated(g)


@rule("Einsum", inputs=ANY)
def einsum(at: Site) -> ir.Value:
    """The Einsum of g and the other operands, in the axes of `x`; an axis that only `x` has is repeated."""
    given, arrow, result = at.node.attributes.get_string("equation", "").replace(" ", "").partition("->")
    terms = given.split(",")
    own, others = terms[at.index], [(k, term) for k, term in enumerate(terms) if k != at.index]
    letters = given.replace(",", "")
    if not letters.isalpha() or any(len(set(term)) < len(term) for term in terms):
        raise at.refuse(f"its equation '{given}{arrow}{result}' has an ellipsis or a diagonal")
    if not arrow:
        result = "".join(sorted(letter for letter in letters if letters.count(letter) == 1))
    known = result + "".join(term for _, term in others)
    kept = "".join(letter for letter in own if letter in known)
    equation = f"{','.join([result, *(term for _, term in others)])}->{kept}"
    g = at.op.Einsum(at.g, *(at.input(k) for k, _ in others), equation=equation)
    missing = [axis for axis, letter in enumerate(own) if letter not in known]
    return at.op.Expand(at.op.Unsqueeze(g, missing), at.shape()) if missing else g


@rule("Conv")
def conv(at: Site) -> ir.Value:
    weight = at.input(1)
    assert weight is not None
    dims = known_dims(weight)
    if dims is None or None in dims[2:]:
        raise at.refuse("the shape of its weights is unknown")
    window = window_of(at, [d for d in dims[2:] if d is not None])
    group = at.node.attributes.get_int("group", 1)
    if set(window.strides) == {1} and not window.skips_pixels and None not in dims:
        return _conv_back(at, weight, [d for d in dims if d is not None], window, group)
    return spread_windows(at, at.g, weight, window, group=group)


def _conv_back(
    at: Site, weight: ir.Value, dims: Sequence[int], window: SlidingWindow, group: int
) -> ir.Value:
    """A convolution of `g` with the mirrored kernel, its input and output channels exchanged.

    onnxruntime runs it several times faster than the equal ConvTranspose, and turns the weights over once,
    when it loads the model.
    """
    op, axes = at.op, range(2, len(dims))
    outputs, inputs, kernel = dims[0] // group, dims[1], dims[2:]
    if group == 1:
        weight = op.Transpose(weight, perm=[1, 0, *axes])
    elif (outputs, inputs) != (1, 1):
        weight = op.Reshape(weight, [group, outputs, inputs, *kernel])
        weight = op.Transpose(weight, perm=[0, 2, 1, *(axis + 1 for axis in axes)])
        weight = op.Reshape(weight, [group * inputs, outputs, *kernel])
    if set(kernel) != {1}:
        back = [-1] * len(kernel)
        weight = op.Slice(weight, back, [-size - 1 for size in kernel], list(axes), back)
    pads = [reach - pad for reach, pad in zip(window.reach * 2, window.begins + window.ends, strict=True)]
    return op.Conv(at.g, weight, pads=pads, dilations=window.dilations, group=group)


@rule("BatchNormalization")
def batch_normalization(at: Site) -> ir.Value:
    """In inference mode: g·scale/√(variance + ε) per channel."""
    op = at.op
    epsilon = at.node.attributes.get_float("epsilon", 1e-5)
    slope = op.Div(at.input(1), op.Sqrt(op.Add(at.input(4), epsilon)))
    return op.Mul(at.g, op.Reshape(slope, [1, -1, *(1,) * (at.rank() - 2)]))
