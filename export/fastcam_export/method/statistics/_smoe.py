"""SMOE Scale: how far a pixel's channels are from all being equal, in units of their mean.

With y = max(x, 0) + ε and m = mean y the map is m·(log2 m − mean log2 y): 0 if all channels are equal,
large if a few channels have most of the sum.

One logarithm serves many channels. The channels are split into parts, and as many parts are multiplied as
float32 can hold: four if y is between 1e-6 and 4e9, ten if y is between 1e-6 and 6. Square roots of two such
products can be multiplied again: the remaining channels are split into halves, the halves multiplied and the
root taken, a few times. The last root is divided by the same power of m before the logarithm, which avoids
the cancellation in log2 m − mean log2 y.

A model holds one such function for each way of splitting that its shapes need.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from ...authoring.ops import Ops, Step, make_function

FLOOR = 1e-6
"""log2 m − mean log2 y below this is rounding error in float32 and becomes exactly 0."""

LONG = 64
"""Most numbers in one float32 sum: the rounding error of longer sums would show in the map."""

UNBOUNDED = 4e9
"""Largest x that the products allow for, if no smaller bound is known."""
EXPONENTS = (-124.0, 127.9)
"""The range of log2 of a product: that of normal float32, with a margin for rounding."""
FACTORS = sorted(range(1, 11), key=lambda factors: abs(factors - 8))
"""Numbers of parts to multiply, best first: fewer need more roots, more need more nodes."""

LARGE = 2**18
"""Smallest tensor, in elements, that does not stay in a core's cache from one node to the next."""
PART = 2**17
"""Largest part of such a tensor, in elements, that stays in the cache until it is used."""
HALVINGS = 3
"""Most halvings: more save little, and layers of different sizes could not share a function."""
FEW = 2**12
"""Fewer logarithms than this cost nearly nothing, so schemes that leave fewer count as equal."""
FREE = 28 * 28
"""Assumed number of pixels if the height or width is free."""


@dataclass(frozen=True)
class Scheme:
    """One way to write the function.

    The channels are split into `parts`, all at once or, with `by_turns`, one part at a time, so that each is
    used while it is in the cache. A root is taken of every product of `factors` parts times 2^`exponent`,
    then of the product of two roots, until one is left. Its channels are halved `halvings` times.
    """

    channels: int
    factors: int
    exponent: int
    parts: int
    halvings: int
    by_turns: bool

    @property
    def rows(self) -> int:
        """The channels that are left to take the logarithm of."""
        return self.channels // self.parts >> self.halvings


def smoe(
    *,
    opset: int,
    channels: int,
    height: int | None,
    width: int | None,
    epsilon: float,
    nonnegative: bool,
    bound: float | None = None,
    quantized: bool = False,
    integer_sums: bool = False,
) -> Step:
    """SMOE Scale, with the fastest scheme for the shape.

    With `quantized`, X is uint8 or int8, and its per-tensor scale and zero point follow. The body then adds
    ε, or takes the ReLU, directly behind DequantizeLinear: in front of a Reshape or Gather, onnxruntime
    would duplicate the DequantizeLinear for every reader. With `integer_sums`, the body may use
    MatMulInteger, and Reshape and Gather of integers, which not every runtime has: if X cannot be negative,
    parts of it stay integers until they are used, and the mean is that of the integers.

    The map is exactly 0 if all channels of a pixel are equal or there is only one. Nearly equal channels are
    resolved to 1e-6 of their mean. For layers of a network the error is at most 5e-6 of the map's range.
    """
    pixels = None if height is None or width is None else height * width
    scheme = choose(channels, pixels, epsilon, bound)
    in_integers = integer_sums and quantized and nonnegative
    mean, constants = _integer_mean_over(channels) if in_integers else mean_over(channels)
    if scheme.by_turns:
        constants["indices"] = np.arange(channels)
    constants |= ending_constants(scheme, height, width)
    # Where the parts are used in turns, ε is added to each of them while it is in the cache, unless it is all
    # that stands between a DequantizeLinear and the Reshape.
    late = scheme.by_turns and (in_integers or not quantized or not nonnegative)

    data = ["X", "scale", "zero_point"] if quantized else ["X"]

    def body(op: Ops, x: ir.Value, *inputs: ir.Value) -> ir.Value:
        given = dict(zip([*data[1:], *constants], inputs, strict=True))
        epsilon = op.attribute("epsilon")

        def positive(values: ir.Value) -> ir.Value:
            if in_integers:
                values = op.DequantizeLinear(values, given["scale"], given["zero_point"])
            return op.Add(values, epsilon)

        if in_integers:
            flat = op.Reshape(x, [0, 0, -1])
            y = flat if late else positive(flat)
        else:
            y = op.DequantizeLinear(x, given["scale"], given["zero_point"]) if quantized else x
            y = y if nonnegative else op.Relu(y)
            y = flat = op.Reshape(y if late else positive(y), [0, 0, -1])
        m = mean(op, flat, given)
        if late or in_integers:
            m = op.Add(m, epsilon)
        sizes = equal(channels, scheme.parts)
        if scheme.by_turns:
            # Gather, because Split copies the whole tensor before its first part is used, and onnxruntime
            # fuses Slices into a Split.
            gathered = [op.Gather(y, part, axis=1) for part in op.split(given["indices"], sizes, axis=0)]
            parts: Sequence[ir.Value] = [positive(part) for part in gathered] if late else gathered
        else:
            parts = op.split(y, sizes, axis=1)
        ratio = op.Div(root_of(op, parts, scheme), power_of_mean(op, m, scheme))
        d = op.ThresholdedRelu(op.MatMul(given["log_mean"], op.Log(ratio)), alpha=FLOOR)
        return op.Reshape(op.Mul(m, d), given.get("shape") or op.Gather(op.Shape(x), [0, 2, 3]))

    return smoe_step(opset, data, constants, body, nonnegative=nonnegative, epsilon=epsilon)


def ending_constants(scheme: Scheme, height: int | None, width: int | None) -> dict[str, np.ndarray]:
    """The weights of the logarithms' mean, in units of log2, and the shape of the map if it is fixed."""
    rows = scheme.rows
    constants = {"log_mean": np.full((1, rows), -2 / scheme.factors / rows / math.log(2), np.float32)}
    if height is not None and width is not None:
        constants["shape"] = np.array([0, height, width], np.int64)
    return constants


def smoe_step(
    opset: int,
    data: Sequence[str],
    constants: Mapping[str, np.ndarray],
    body: Callable[..., ir.Value],
    *,
    nonnegative: bool,
    epsilon: float,
) -> Step:
    """The function around a body, by the name that the compiled kernels know."""
    doc = "SMOE Scale of the channels: m·(log2 m − mean log2 y), y = max(x, 0) + epsilon, m = mean y."
    name = "SmoeScaleQuantized" if len(data) > 1 else "SmoeScale" if nonnegative else "SmoeScaleRelu"
    function = make_function(
        name, opset, [*data, *constants], body, output="S", attributes=["epsilon"], doc=doc
    )
    return Step(function, constants, {"epsilon": epsilon})


def choose(
    channels: int, pixels: int | None, epsilon: float, bound: float | None, *, fused: bool = False
) -> Scheme:
    """The scheme that leaves the fewest elements to take the logarithm of, one that is `fused` or not."""
    by_turns = not fused and pixels is not None and channels * pixels >= LARGE
    most, few = (channels, 1) if fused else (HALVINGS, FEW)
    schemes: dict[Scheme, int] = {}
    for factors in FACTORS:
        exponent = _exponent(factors, epsilon, bound)
        if exponent is None or channels % factors:
            continue
        parts, halvings = factors, 0
        left = channels // factors * (pixels or FREE)
        while by_turns and left > PART and channels % (2 * parts) == 0:
            parts, left = 2 * parts, left // 2
        while halvings < most and channels % (2 * parts << halvings) == 0:
            halvings, left = halvings + 1, left // 2
        schemes[Scheme(channels, factors, exponent, parts, halvings, by_turns)] = max(left, few)
    return min(schemes, key=lambda scheme: schemes[scheme])


def _exponent(factors: int, epsilon: float, bound: float | None) -> int | None:
    """The exponent of 2 that keeps a product of `factors` y inside float32; None if there is none."""
    lowest, highest = EXPONENTS
    # At least 1, so that products of fewer y are inside float32 as well.
    limit = max(1.0, UNBOUNDED if bound is None else min(bound, UNBOUNDED)) + epsilon
    # Even, so that the root of 2^exponent is a power of 2 too.
    exponent = 2 * math.ceil(max(0.0, lowest - factors * math.log2(epsilon)) / 2)
    return exponent if exponent + factors * math.log2(limit) <= highest else None


Mean = Callable[[Ops, ir.Value, Mapping[str, ir.Value]], ir.Value]


def mean_over(channels: int) -> tuple[Mean, dict[str, np.ndarray]]:
    """The mean of [N,C,HW] over C, [N,1,HW], without long sums; and the constants that it is given."""
    return _mean if max(_sums(channels)) <= LONG else _corrected_mean, _mean_constants(channels)


def _sums(channels: int) -> tuple[int, int]:
    """Number and length of partial sums for the mean: long float32 sums have a larger rounding error."""
    count = next(n for n in range(1, channels + 1) if channels % n == 0 and channels <= LONG * n)
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


def _integer_mean_over(channels: int) -> tuple[Mean, dict[str, np.ndarray]]:
    """As `mean_over`, from the integers of a quantised tensor: a quarter of the memory, and exact."""

    def mean(op: Ops, integers: ir.Value, given: Mapping[str, ir.Value]) -> ir.Value:
        total = op.MatMulInteger(given["ones"], integers, None, given["zero_point"])
        return op.Mul(op.Cast(total, to=ir.DataType.FLOAT), op.Mul(given["scale"], 1 / channels))

    return mean, {"ones": np.ones((1, channels), np.uint8)}


def _corrected_mean(op: Ops, y: ir.Value, given: Mapping[str, ir.Value]) -> ir.Value:
    """The mean for a number of channels without suitable divisors, plus the mean of its residuals."""
    m = _mean(op, y, given)
    return op.Add(m, _mean(op, op.Sub(y, m), given))


def equal(length: int, parts: int) -> list[int]:
    return [length // parts] * parts


def root_of(op: Ops, parts: Sequence[ir.Value], scheme: Scheme) -> ir.Value:
    """The root of 2^exponent · (geometric mean)^factors, over the parts, then over halves of the channels."""
    root, left = _root_of_parts(op, parts, scheme), scheme.channels // scheme.parts
    for _ in range(scheme.halvings):
        root = op.Sqrt(op.Mul(*op.split(root, equal(left, 2), axis=1)))
        left //= 2
    return root


def _root_of_parts(op: Ops, parts: Sequence[ir.Value], scheme: Scheme) -> ir.Value:
    if len(parts) > scheme.factors:
        half = len(parts) // 2
        return op.Sqrt(
            op.Mul(_root_of_parts(op, parts[:half], scheme), _root_of_parts(op, parts[half:], scheme))
        )
    first = op.Mul(parts[0], 2.0**scheme.exponent) if scheme.exponent else parts[0]
    return op.Sqrt(functools.reduce(op.Mul, parts[1:], first))


def power_of_mean(op: Ops, m: ir.Value, scheme: Scheme) -> ir.Value:
    """The value of `root_of` if all channels are m."""
    base, count = (op.Sqrt(m), scheme.factors) if scheme.factors % 2 else (m, scheme.factors // 2)
    power = base
    for digit in f"{count:b}"[1:]:
        power = op.Mul(power, power)
        if digit == "1":
            power = op.Mul(power, base)
    return op.Mul(power, 2.0 ** (scheme.exponent // 2)) if scheme.exponent else power
