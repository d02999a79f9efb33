"""Statistics over the channels of one pixel: [N,C,H,W] → [N,H,W]."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

from fastcam_runtime.errors import FastcamError, closest

from ...authoring.ops import Step
from ...choices import STATISTICS
from ._lognormal import lognormal_entropy, lognormal_mean
from ._moments import maximum, mean, std
from ._shannon import shannon
from ._smoe import smoe
from ._smoe_fused import smoe_fused
from ._truncnormal import truncnormal_entropy, truncnormal_mean, truncnormal_std

__all__ = ["statistic"]

_BUILDERS: Mapping[str, Callable[..., Step]] = {
    "smoe": smoe,
    "std": std,
    "mean": mean,
    "max": maximum,
    "shannon": shannon,
    "lognormal_mean": lognormal_mean,
    "lognormal_entropy": lognormal_entropy,
    "truncnormal_mean": truncnormal_mean,
    "truncnormal_std": truncnormal_std,
    "truncnormal_entropy": truncnormal_entropy,
}


def statistic(
    name: str,
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
    fused: bool = False,
) -> Step:
    """The step from activations X, float32 [N,C,H,W], to the map S, float32 [N,H,W].

    Args:
        name: One of `STATISTICS`.
        opset: Opset of the model, 13 or newer.
        channels: C.
        height: H, or None where it is free.
        width: W, or None where it is free.
        epsilon: Added to the activations where the statistic takes their logarithm.
        nonnegative: X is known to be ≥ 0, so the step needs no ReLU.
        bound: An upper bound of X; None if unknown.
        quantized: X is uint8 or int8; two more inputs are its scale and zero point. Only for `COMPILED`.
        integer_sums: The runtime has MatMulInteger, for a quantised X.
        fused: The runtime computes a chain of elementwise operators in one pass.
    """
    if name not in _BUILDERS:
        raise FastcamError(f"no statistic named '{name}'{closest(name, STATISTICS)}")
    build = smoe_fused if fused and name == "smoe" else _BUILDERS[name]
    if quantized:
        build = functools.partial(build, quantized=True)
        build = build if fused else functools.partial(build, integer_sums=integer_sums)
    return build(
        opset=opset, channels=channels, height=height, width=width, epsilon=epsilon, nonnegative=nonnegative,
        bound=bound,
    )  # fmt: skip
