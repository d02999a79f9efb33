"""SMOE Scale: how far a pixel's channels are from all being equal, in units of their mean.

With y = max(x, 0) + ε and m = mean y the map is m·(log2 m − mean log2 y): 0 where all channels agree,
large where a few of them carry the pixel.

One logarithm serves many channels. A product of four y stays inside float32 for y from 1e-6 to 4e9; its
square root can be multiplied with another such root, and so on up a tree. Where y has a known bound, a
product of eight does. The last root is divided by the same power of m before its logarithm, which keeps the
digits that log2 m − mean log2 y would cancel.

| function | channels | how they are split | per logarithm |
|---|---|---|---|
| `SmoeScale` | divisible by 8 | 8 parts at once | 8 |
| `SmoeScaleLarge`, `…32`, `…64` | divisible by these, in a large tensor | 16 parts by turns | 16, 32, 64 |
| `SmoeScaleFour` | divisible by 4 alone | 4 parts at once | 4 |
| `SmoeScaleUngrouped` | any other number | not at all | 1 |

By turns: each part is used up while it is in the cache. The names go on with `Bounded` where X has a small
bound (ReLU6), with `Relu` where it may be negative, and with `Dynamic` where its height or width is free.
"""

from __future__ import annotations

import dataclasses
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

SCALE = 2.0**40
"""The fourth power of a bounded y times this stays in the middle of float32, and so does its square."""
BOUND = 32.0
"""Largest value of a bounded y…"""
BOUNDED_EPSILON = 1e-7
"""…and its smallest: (y/m)⁴ is then never below 1e-34."""


@dataclass(frozen=True)
class _Form:
    """One way to write the function.

    The channels are split into `parts`, all at once or by turns; their product is halved `halvings` times
    and the halves multiplied.
    """

    name: str
    parts: int
    halvings: int = 0
    by_turns: bool = False
    bounded: bool = False

    @property
    def group(self) -> int:
        """Channels that share a logarithm."""
        return self.parts << self.halvings

    @property
    def power(self) -> int:
        """The last root is as large as this power of y."""
        return 1 if self.parts == 1 else 4 if self.bounded else 2

    @property
    def factors(self) -> int:
        """How many y may be multiplied before a square root."""
        return 8 if self.bounded else 4


_LARGE = tuple(
    _Form(f"SmoeScaleLarge{'' if halvings == 0 else 16 << halvings}", 16, halvings, by_turns=True)
    for halvings in (2, 1, 0)
)
_SMALL = (_Form("SmoeScale", 8), _Form("SmoeScaleFour", 4), _Form("SmoeScaleUngrouped", 1))


def smoe(
    *,
    opset: int,
    channels: int,
    height: int | None,
    width: int | None,
    epsilon: float,
    nonnegative: bool,
    bound: float | None = None,
) -> Step:
    """SMOE Scale in the fastest form for the shape.

    Exactly 0 where all channels of a pixel are equal, dead or single. What nearly equal channels differ by
    is resolved to 1e-6 of their mean. For layers of a network the map is within 5e-6 of its range.
    """
    form = _choose(channels, height, width)
    if nonnegative and bound is not None and bound + epsilon <= BOUND and epsilon >= BOUNDED_EPSILON:
        form = _bounded(form)
    name = form.name + ("" if nonnegative else "Relu")
    constants = _mean_constants(channels)
    if form.by_turns:
        constants["indices"] = np.arange(channels)
    groups = channels // form.group
    constants["log_mean"] = np.full((1, groups), -1 / groups / form.power / math.log(2), np.float32)
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
            parts: Sequence[ir.Value] = _parts(
                op, op.Reshape(y, [0, 0, -1]), given["indices"], epsilon, form.parts
            )
        else:
            y = op.Add(y, epsilon)
            m = _mean(op, y, given)
            flat = op.Reshape(y, [0, 0, -1])
            if form.parts == 1:  # numbers of channels that have no divisors to make short sums of
                m = op.Add(m, _mean(op, op.Sub(flat, m), given))
            parts = op.split(flat, form.parts, axis=1) if form.parts > 1 else [flat]
        ratio = op.Div(_product(op, parts, form), _power(op, m, form))
        d = op.ThresholdedRelu(op.MatMul(given["log_mean"], op.Log(ratio)), alpha=FLOOR)
        return op.Reshape(op.Mul(m, d), given.get("shape") or op.Gather(op.Shape(x), [0, 2, 3]))

    doc = "SMOE Scale of the channels: m·(log2 m − mean log2 y), y = max(x, 0) + epsilon, m = mean y."
    function = make_function(
        name, opset, ["X", *constants], body, output="S", attributes=["epsilon"], doc=doc
    )
    return Step(function, constants, {"epsilon": epsilon})


def _choose(channels: int, height: int | None, width: int | None) -> _Form:
    large = height is not None and width is not None and channels * height * width >= LARGE
    forms = (*_LARGE, *_SMALL) if large else _SMALL
    fitting = [form for form in forms if channels % form.group == 0]
    return fitting[0] if max(_sums(channels)) <= 128 else fitting[-1]


def _bounded(form: _Form) -> _Form:
    """The same form for a bounded X, where that makes a difference."""
    if form.parts < 8:
        return form
    return dataclasses.replace(form, name=f"{form.name}Bounded", bounded=True)


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


def _parts(op: Ops, flat: ir.Value, indices: ir.Value, epsilon: ir.Value, count: int) -> list[ir.Value]:
    """Parts of the channels, each with ε added, from [N,C,HW] and the channels' indices.

    Split would copy the whole tensor before its first part is used, and onnxruntime makes a Split of Slices.
    """
    parts = op.split(indices, count, axis=0)
    return [op.Add(op.Gather(flat, part, axis=1), epsilon) for part in parts]


def _product(op: Ops, parts: Sequence[ir.Value], form: _Form) -> ir.Value:
    """For each group of channels the form's power of their geometric mean, times `SCALE` if bounded."""
    product = _root(op, parts, form)
    for _ in range(form.halvings):
        product = op.Sqrt(op.Mul(*op.split(product, 2, axis=1)))
    return product


def _root(op: Ops, parts: Sequence[ir.Value], form: _Form) -> ir.Value:
    """The product of the parts, with a square root wherever the next product would leave float32."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    first, second = _root(op, parts[:half], form), _root(op, parts[half:], form)
    if form.bounded and len(parts) == form.factors:
        second = op.Mul(second, SCALE**2)
    product = op.Mul(first, second)
    return op.Sqrt(product) if len(parts) >= form.factors else product


def _power(op: Ops, m: ir.Value, form: _Form) -> ir.Value:
    """What `_product` is where all channels are m."""
    if form.power == 1:
        return m
    square = op.Mul(m, m)
    return op.Mul(op.Mul(square, SCALE), square) if form.bounded else square
