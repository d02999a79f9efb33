"""SMOE Scale: how far a pixel's channels are from all being equal, in units of their mean.

With y = max(x, 0) + ε and m = mean y the map is m·(log2 m − mean log2 y): 0 where all channels agree,
large where a few of them carry the pixel.

One logarithm serves many channels. A product of four y stays inside float32 for y from 1e-6 to 4e9; its
square root can be multiplied with another such root, and so on up a tree. The last root is divided by m²
before its logarithm, which keeps the digits that log2 m − mean log2 y would cancel.

| function | channels | how they are split |
|---|---|---|
| `SmoeScale` | divisible by 8 | 8 parts at once |
| `SmoeScaleLarge` | divisible by 16, in a large tensor | 16 parts, each used up while it is in the cache |
| `SmoeScaleFour` | divisible by 4 alone | 4 parts at once |
| `SmoeScaleUngrouped` | any other number | not at all |

The names end in `Relu` where X may be negative, and in `Dynamic` where its height or width is free.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from ..authoring import Ops, Step, make_function

FLOOR = 1e-6
"""log2 m − mean log2 y below this is not told from 0 in float32, and becomes exactly 0."""

LARGE = 2**18
"""Elements of a tensor that does not stay in a core's cache from one node to the next."""


@dataclass(frozen=True)
class _Form:
    """One way to write the function: into how many parts it splits the channels, all at once or by turns."""

    name: str
    parts: int
    by_turns: bool = False

    @property
    def roots(self) -> int:
        """What the parts' product is the root of: (Π parts)^(1/roots) is as large as m², or as m."""
        return max(self.parts // 2, 1)


_LARGE = _Form("SmoeScaleLarge", 16, by_turns=True)
_FORMS = (_Form("SmoeScale", 8), _Form("SmoeScaleFour", 4), _Form("SmoeScaleUngrouped", 1))


def smoe(
    *, opset: int, channels: int, height: int | None, width: int | None, epsilon: float, nonnegative: bool
) -> Step:
    """SMOE Scale in the fastest form for the shape.

    Exactly 0 where all channels of a pixel are equal, dead or single. What nearly equal channels differ by
    is resolved to 1e-6 of their mean. For layers of a network the map is within 5e-6 of its range.
    """
    form = _choose(channels, height, width)
    name = form.name + ("" if nonnegative else "Relu")
    constants = _mean_constants(channels)
    if form.by_turns:
        constants["indices"] = np.arange(channels)
    log_mean = -form.roots / channels / math.log(2)
    constants["log_mean"] = np.full((1, channels // form.parts), log_mean, np.float32)
    if height is None or width is None:
        name += "Dynamic"
    else:
        constants["shape"] = np.array([0, height, width], np.int64)

    def body(op: Ops, x: ir.Value, *inputs: ir.Value) -> ir.Value:
        given = dict(zip(constants, inputs, strict=True))
        epsilon = op.attribute("epsilon")
        y = x if nonnegative else op.Relu(x)
        if form.by_turns:
            m = op.Add(_mean(op, y, given), epsilon)
            product = _root(op, _parts(op, op.Reshape(y, [0, 0, -1]), given["indices"], epsilon))
        else:
            y = op.Add(y, epsilon)
            m = _mean(op, y, given)
            flat = op.Reshape(y, [0, 0, -1])
            if form.parts == 1:  # numbers of channels that have no divisors to make short sums of
                m = op.Add(m, _mean(op, op.Sub(flat, m), given))
            product = _root(op, op.split(flat, form.parts, axis=1) if form.parts > 1 else [flat])
        ratio = op.Div(product, op.Mul(m, m) if form.parts > 1 else m)
        d = op.ThresholdedRelu(op.MatMul(given["log_mean"], op.Log(ratio)), alpha=FLOOR)
        return op.Reshape(op.Mul(m, d), given.get("shape") or op.Gather(op.Shape(x), [0, 2, 3]))

    doc = "SMOE Scale of the channels: m·(log2 m − mean log2 y), y = max(x, 0) + epsilon, m = mean y."
    function = make_function(
        name, opset, ["X", *constants], body, output="S", attributes=["epsilon"], doc=doc
    )
    return Step(function, constants, {"epsilon": epsilon})


def _choose(channels: int, height: int | None, width: int | None) -> _Form:
    large = height is not None and width is not None and channels * height * width >= LARGE
    forms = (_LARGE, *_FORMS) if large else _FORMS
    fitting = [form for form in forms if channels % form.parts == 0]
    return fitting[0] if max(_sums(channels)) <= 128 else fitting[-1]


def _sums(channels: int) -> tuple[int, int]:
    """How many sums of how many channels make up the mean; a long float32 sum would drift with its length."""
    count = next(n for n in range(1, channels + 1) if channels % n == 0 and channels <= 64 * n)
    return count, channels // count


def _mean_constants(channels: int) -> dict[str, np.ndarray]:
    count, length = _sums(channels)
    return {
        "mean_shape": np.array([0, count, length, -1], np.int64),
        "short_mean": np.full((1, length), 1 / length, np.float32),
        "mean": np.full((1, count), 1 / count, np.float32),
    }


def _mean(op: Ops, y: ir.Value, given: Mapping[str, ir.Value]) -> ir.Value:
    """The mean over the channels, [N,1,HW]. As a matrix product it is many times faster than ReduceMean."""
    means = op.MatMul(given["short_mean"], op.Reshape(y, given["mean_shape"]))
    return op.MatMul(given["mean"], op.Squeeze(means, [2]))


def _parts(op: Ops, flat: ir.Value, indices: ir.Value, epsilon: ir.Value) -> list[ir.Value]:
    """Parts of the channels, each with ε added, from [N,C,HW] and the channels' indices.

    Split would copy the whole tensor before its first part is used, and onnxruntime makes a Split of Slices.
    """
    parts = op.split(indices, _LARGE.parts, axis=0)
    return [op.Add(op.Gather(flat, part, axis=1), epsilon) for part in parts]


def _root(op: Ops, parts: Sequence[ir.Value]) -> ir.Value:
    """(Π parts)^(1/roots), with a square root wherever a product of four would be squared."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    product = op.Mul(_root(op, parts[:half]), _root(op, parts[half:]))
    return op.Sqrt(product) if len(parts) > 2 else product
