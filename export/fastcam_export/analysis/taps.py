"""Taps: the tensor where each scale of the network ends.

A tap is the last activated tensor at each down-sampling, among the tensors that every path from the image to
the scores passes through (dominators). Taking the last ReLU at each size would be wrong: on ResNet-50 that is
the inner ReLU of a block, which the shortcut bypasses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import onnx_ir as ir
from fastcam_runtime.text import count

from ..errors import GraftError
from .activations import Kind, upper_bound
from .candidates import TapCandidate, only_gates
from .ends import Ends, find_value
from .geometry import TensorGeometry
from .operators import facts


@dataclass(frozen=True)
class Tap:
    """The tensor that represents one scale, and why it was chosen."""

    value: ir.Value
    layout: str
    """`NCHW`, or `NHWC` where the network activates its last features channels last."""
    shape: tuple[int, ...]
    """N×C×H×W for the analysed input, for both layouts."""
    operator: str
    nonnegative: bool
    """Known never to be negative. If not, the statistic applies a ReLU first."""
    bound: float | None
    """An upper bound of its values; None if unknown."""
    why: str
    rejected: tuple[str, ...] = ()
    """Neighbours at the same scale that were not chosen, each with the reason."""
    first: int | None = None
    """Only this many channels are read, from the first one on; None reads all of them."""

    @property
    def name(self) -> str:
        return self.value.name or ""

    @property
    def channels(self) -> int:
        """The number of channels that the statistic reads."""
        return self.shape[1] if self.first is None else self.first


_HIDE_LAYERS = ("ConcatFromSequence", "If", "Loop", "Scan", "SequenceAt")
"""Operators through which layers cannot be followed."""


def find_taps(
    found: Sequence[TapCandidate], ends: Ends, geometry: Mapping[str, TensorGeometry], least_channels: int = 1
) -> list[Tap]:
    """One tap per scale, shallow to deep.

    A scale needs `least_channels`. An output of the network that no node reads is not a scale.

    Raises:
        GraftError: No tensor of the network qualifies (an MLP, a vision transformer).
    """
    by_scale: dict[tuple[float, float], list[TapCandidate]] = {}
    for candidate in found:
        if candidate.depth and _is_informative(candidate, least_channels):
            by_scale.setdefault(candidate.geometry.stride, []).append(candidate)
    order = {id(value): i for i, node in enumerate(ends.path) for value in node.outputs}
    taps = [tap for group in by_scale.values() if (tap := _choose(group, ends, geometry)) is not None]
    if not taps:
        operators = sorted({node.op_type for node in ends.path})
        integer = next((name for name in operators if facts(name).convolution and facts(name).integer), None)
        hidden = [name for name in operators if name in _HIDE_LAYERS]
        advice = "the method needs a convolutional network"
        if integer is not None:
            advice = f"{integer} computes integers: quantise in the QDQ format instead"
        elif hidden:
            advice = (
                f"{' and '.join(hidden)} may hide its layers: simplify the file first, e.g. with onnxslim"
            )
        raise GraftError(
            "no usable scale: looked for activated N×C×H×W tensors larger than 1×1 on the way from "
            f"'{ends.image.name}' to '{ends.scores.name}', found none among {len(ends.path)} nodes "
            f"({', '.join(operators[:8])}{'…' if len(operators) > 8 else ''}); {advice}"
        )
    return sorted(taps, key=lambda tap: order[id(tap.value)])


def uninformative_tensors(found: Sequence[TapCandidate], least_channels: int) -> list[str]:
    """Activated tensors that have too few channels to be a scale, or that are an output of the network."""
    return [
        f"'{c.name}' ({'×'.join(map(str, c.shape[1:]))})"
        for c in found
        if c.depth and c.kind >= Kind.SIGNED and not c.pooled and not _is_informative(c, least_channels)
    ]


def _is_informative(candidate: TapCandidate, least_channels: int) -> bool:
    layout = candidate.geometry.layout or "NCHW"
    answer = candidate.value.is_graph_output() and not candidate.value.uses()
    return candidate.shape[layout.index("C")] >= least_channels and not answer


def named_taps(
    model: ir.Model,
    names: Sequence[str],
    ends: Ends,
    found: Sequence[TapCandidate],
    least_channels: int = 1,
) -> list[Tap]:
    """The taps that the user names, shallow to deep.

    Raises:
        GraftError: A name is unknown, a tensor cannot be tapped, or they are not from shallow to deep.
    """
    usable = {candidate.name: candidate for candidate in found}
    taps = []
    for name in names:
        find_value(model, name)
        if name not in usable:
            raise GraftError(
                f"tensor '{name}' cannot be tapped: it is not an N×C×H×W tensor of the whole picture, "
                "larger than 1×1 and no larger than the picture, on the way from "
                f"'{ends.image.name}' to '{ends.scores.name}'"
            )
        tap = _tap(usable[name], "named by the user")
        if tap.channels < least_channels:
            raise GraftError(
                f"tensor '{name}' has {count(tap.channels, 'channel')}: the statistic would be constant; "
                "name another tensor, or --statistic mean"
            )
        taps.append(tap)
    in_order = [name for name in usable if name in names]
    if in_order != list(names):
        # Not sorted silently: the weights have the same order.
        raise GraftError(f"taps {','.join(names)} are not from shallow to deep: name {','.join(in_order)}")
    return taps


def _choose(group: list[TapCandidate], ends: Ends, geometry: Mapping[str, TensorGeometry]) -> Tap | None:
    """Apply the rules in order, from the best case to the last resort."""
    # Dominators have a unique order. Parallel branches may be listed in any order: sort these by depth.
    group = sorted(group, key=lambda c: c.depth)

    def activated(c: TapCandidate) -> bool:
        return c.kind >= Kind.SIGNED and not c.pooled

    rules: tuple[tuple[Callable[[TapCandidate], bool], str], ...] = (
        (lambda c: c.dominator and activated(c), "last activated dominator"),
        (
            lambda c: c.dominator and c.kind == Kind.RESIDUAL and not c.pooled,
            "last residual sum (no activated dominator)",
        ),
        (
            lambda c: c.dominator and c.kind >= Kind.SIGNED and c.convolved,
            "pooled, but the only tensor at this scale",
        ),
        (
            lambda c: activated(c) and not only_gates(c.value, ends, geometry),
            "last activated tensor (no dominator here)",
        ),
    )
    for fits, why in rules:
        chosen = next((c for c in reversed(group) if fits(c)), None)
        if chosen is not None:
            return _tap(chosen, why, _rejections(group, chosen))
    return None


def _tap(candidate: TapCandidate, why: str, rejected: tuple[str, ...] = ()) -> Tap:
    nonnegative = candidate.kind == Kind.NON_NEGATIVE
    why = f"{why}, {'never negative' if nonnegative else 'signed: a ReLU is applied first'}"
    bound = upper_bound(candidate.value) if nonnegative else None
    layout = candidate.geometry.layout or "NCHW"
    shape = tuple(candidate.shape[layout.index(axis)] for axis in "NCHW")
    return Tap(candidate.value, layout, shape, candidate.operator, nonnegative, bound, why, rejected)


def _rejections(group: list[TapCandidate], chosen: TapCandidate) -> tuple[str, ...]:
    """The nearest activated neighbours, each with the reason against it."""
    others = [c for c in group if c is not chosen and (c.kind >= Kind.SIGNED or c.pooled)]
    here = group.index(chosen)
    others.sort(key=lambda c: abs(group.index(c) - here))
    return tuple(f"{c.name} ({c.operator}): {_objection(c, chosen)}" for c in others[:3])


def _objection(candidate: TapCandidate, chosen: TapCandidate) -> str:
    if candidate.pooled:
        return "pooled or padded"
    if not candidate.dominator and chosen.dominator:
        return "bypassed by another path"
    return "not the last of its scale"
