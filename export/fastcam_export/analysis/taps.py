"""Taps: the tensor where each scale of the network ends.

Among the tensors that every path from the image to the scores passes through, the last activated one
at each down-sampling. The last ReLU at each size would not do: on ResNet-50 it is the inner ReLU of a
block that the shortcut bypasses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import onnx_ir as ir

from ..errors import GraftError
from .activations import Kind, kinds
from .bounds import upper_bound
from .dominators import dominators, inputs_of
from .ends import Ends, find_value
from .gates import only_gates
from .geometry import Geometry, geometries
from .shapes import Shapes

POOLING = frozenset({"MaxPool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool", "Pad"})
COPYING = frozenset({"Identity", "Dropout", "Cast", "QuantizeLinear", "DequantizeLinear"})
_INTEGER_CONVOLUTIONS = frozenset({"QLinearConv", "ConvInteger"})
CARRIES_POOLING = COPYING | {"LRN", "Reshape", "Transpose"}


@dataclass(frozen=True)
class Candidate:
    """A tensor of the network with a picture's layout, and what speaks for and against it as a tap."""

    value: ir.Value
    shape: tuple[int, ...]
    geometry: Geometry
    kind: Kind
    dominator: bool
    pooled: bool
    """The result of a pooling or a padding."""
    turned: bool
    """A copy of an activated tensor with its axes in another order."""
    depth: int
    """Behind how many convolutions? Behind none, it is the picture itself, quantised or scaled."""
    convolved: bool
    """Does a convolution follow? If not, a pooled tensor is not a scale but the way out."""

    @property
    def name(self) -> str:
        return self.value.name or ""

    @property
    def operator(self) -> str:
        node = self.value.producer()
        return node.op_type if node is not None else "input"


@dataclass(frozen=True)
class Tap:
    """The tensor that stands for one scale, and why."""

    value: ir.Value
    layout: str
    """`NCHW`, or `NHWC` where the network activates its last features in that order."""
    shape: tuple[int, ...]
    """Concrete N×C×H×W for the analysed input, whatever the layout."""
    operator: str
    nonnegative: bool
    """Known never to be negative; if not, the statistic sees it through a ReLU."""
    bound: float | None
    """What no value exceeds, where that is known."""
    why: str
    rejected: tuple[str, ...] = ()
    """Neighbours at the same scale that were not taken, each with its reason."""
    first: int | None = None
    """Only this many channels are read, the first ones; None for all of them."""

    @property
    def name(self) -> str:
        return self.value.name or ""

    @property
    def channels(self) -> int:
        """How many channels the statistic sees."""
        return self.shape[1] if self.first is None else self.first


def candidates(ends: Ends, shapes: Shapes, geometry: Mapping[str, Geometry]) -> list[Candidate]:
    """Every tensor on the picture's path that could be tapped at all, in topological order."""
    kind = kinds(ends.path)
    dominating = {value.name for value in dominators(ends.path, ends.image, ends.scores)}
    convolutions = [i for i, node in enumerate(ends.path) if "Conv" in node.op_type] or [-1]
    depth: dict[str | None, int] = {}
    pooled: set[str] = set()
    turned: set[str] = set()
    found: list[Candidate] = []
    for position, node in enumerate(ends.path):
        source = node.inputs[0] if node.inputs else None
        before = source.name or "" if source is not None else ""
        carried = node.op_type in CARRIES_POOLING and before in pooled
        copied = (node.op_type in COPYING and before in turned) or (
            node.op_type == "Transpose" and kind.get(before, Kind.OTHER) >= Kind.SIGNED
        )
        if node.op_type == "DequantizeLinear" and source is not None and source.name in dominating:
            # One quantised tensor may be dequantised once for each reader; each is the whole of it.
            dominating.update(value.name for value in node.outputs)
        deepest = max(depth.get(value.name, 0) for value in inputs_of(node)) + ("Conv" in node.op_type)
        for value in node.outputs:
            if not value.name:
                continue
            depth[value.name] = deepest
            where = geometry.get(value.name)
            # Every second pixel is a pooling, too.
            skipping = (
                node.op_type == "Slice" and where and where.stride != geometry.get(before, where).stride
            )
            if node.op_type in POOLING or carried or skipping:
                pooled.add(value.name)
            if copied:
                turned.add(value.name)
            shape = shapes.get(value.name, ())  # a sequence has none
            if node.op_type == "QuantizeLinear" or where is None or len(shape) != 4:
                continue
            candidate = Candidate(
                value,
                shape,
                where,
                kind[value.name],
                value.name in dominating,
                value.name in pooled,
                copied,
                depth[value.name],
                position < convolutions[-1],
            )
            if _usable(candidate, ends):
                found.append(candidate)
    return found


def find_taps(ends: Ends, shapes: Shapes) -> list[Tap]:
    """One tap per scale, shallow to deep.

    Raises:
        GraftError: No tensor of the network qualifies (an MLP, a vision transformer).
    """
    by_scale: dict[tuple[float, float], list[Candidate]] = {}
    geometry = geometries(ends, shapes)
    for candidate in candidates(ends, shapes, geometry):
        if candidate.depth:
            by_scale.setdefault(candidate.geometry.stride, []).append(candidate)
    order = {id(value): i for i, node in enumerate(ends.path) for value in node.outputs}
    taps = [tap for group in by_scale.values() if (tap := _choose(group, ends, geometry)) is not None]
    if not taps:
        operators = sorted({node.op_type for node in ends.path})
        integer = next((name for name in operators if name in _INTEGER_CONVOLUTIONS), None)
        advice = (
            "the method needs a convolutional network"
            if integer is None
            else f"what {integer} gives is integers: quantise in the QDQ format instead"
        )
        raise GraftError(
            "no usable scale: looked for activated N×C×H×W tensors larger than 1×1 on the way from "
            f"'{ends.image.name}' to '{ends.scores.name}', found none among {len(ends.path)} nodes "
            f"({', '.join(operators[:8])}{'…' if len(operators) > 8 else ''}); {advice}"
        )
    return sorted(taps, key=lambda tap: order[id(tap.value)])


def named_taps(model: ir.Model, names: Sequence[str], ends: Ends, shapes: Shapes) -> list[Tap]:
    """The taps that the user names, shallow to deep.

    Raises:
        GraftError: A name is unknown, its tensor has no picture's layout, or the order is another.
    """
    usable = {candidate.name: candidate for candidate in candidates(ends, shapes, geometries(ends, shapes))}
    taps = []
    for name in names:
        find_value(model, name)
        if name not in usable:
            raise GraftError(
                f"tensor '{name}' cannot be tapped: it is not an N×C×H×W tensor of the whole picture, "
                "larger than 1×1 and no larger than the picture, on the way from "
                f"'{ends.image.name}' to '{ends.scores.name}'"
            )
        taps.append(_tap(usable[name], "named by the user"))
    in_order = [name for name in usable if name in names]
    if in_order != list(names):
        # Not sorted in silence: the weights, too, are given from shallow to deep.
        raise GraftError(f"taps {','.join(names)} are not from shallow to deep: name {','.join(in_order)}")
    return taps


def _usable(candidate: Candidate, ends: Ends) -> bool:
    height, width = candidate.geometry.size
    if height * width <= 1 or height > ends.size[0] or width > ends.size[1]:
        return False
    if candidate.geometry.whole is not None:
        return False  # the map of a part would be stretched over the whole picture
    if candidate.geometry.layout != "NHWC":
        return candidate.geometry.layout == "NCHW"
    # Convolutions write NCHW. Behind them, only an activation on the way to all else is worth a Transpose;
    # a transposed copy has its original, and a transformer's tokens are no features of a convolution.
    return candidate.dominator and candidate.kind >= Kind.SIGNED and not candidate.turned


def _choose(group: list[Candidate], ends: Ends, geometry: Mapping[str, Geometry]) -> Tap | None:
    """The rule, from the best case to the last resort."""
    # Dominators have one order. Of parallel branches, which file them as they like, the deepest is the last.
    group = sorted(group, key=lambda c: c.depth)

    def activated(c: Candidate) -> bool:
        return c.kind >= Kind.SIGNED and not c.pooled

    rules: tuple[tuple[Callable[[Candidate], bool], str], ...] = (
        (lambda c: c.dominator and activated(c), "last activated dominator"),
        (
            lambda c: c.dominator and c.kind == Kind.RESIDUAL and not c.pooled,
            "last residual sum (no activated dominator)",
        ),
        (
            lambda c: c.dominator and c.kind >= Kind.SIGNED and c.convolved,
            "pooled, but all there is at this scale",
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


def _tap(candidate: Candidate, why: str, rejected: tuple[str, ...] = ()) -> Tap:
    nonnegative = candidate.kind == Kind.NON_NEGATIVE
    why = f"{why}, {'never negative' if nonnegative else 'signed: seen through a ReLU'}"
    bound = upper_bound(candidate.value) if nonnegative else None
    layout = candidate.geometry.layout or "NCHW"
    shape = tuple(candidate.shape[layout.index(axis)] for axis in "NCHW")
    return Tap(candidate.value, layout, shape, candidate.operator, nonnegative, bound, why, rejected)


def _rejections(group: list[Candidate], chosen: Candidate, most: int = 3) -> tuple[str, ...]:
    """The nearest activated neighbours and what spoke against each."""
    others = [c for c in group if c is not chosen and (c.kind >= Kind.SIGNED or c.pooled)]
    here = group.index(chosen)
    others.sort(key=lambda c: abs(group.index(c) - here))
    return tuple(f"{c.name} ({c.operator}): {_objection(c, chosen)}" for c in others[:most])


def _objection(candidate: Candidate, chosen: Candidate) -> str:
    if candidate.pooled:
        return "pooled or padded"
    if not candidate.dominator and chosen.dominator:
        return "bypassed by another path"
    return "not the last of its scale"
