"""The graft: load → taps → (per tap) statistic → normalise → combine → class maps → outputs + metadata."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnx
import onnx_ir as ir
from fastcam_runtime.contract import (
    CLASS_INPUT,
    DOMAIN,
    LOVI,
    MAP,
    METADATA_KEY,
    NODE_PREFIX,
    ImageInput,
    Metadata,
    TapInfo,
    output_names,
    scale_output,
)  # fmt: skip
from onnx_ir.passes.common import InlinePass

from .bilinear import Size
from .branch import Branch
from .combine import combine
from .errors import GraftError
from .graph.ends import Ends, find_ends, scores_are
from .graph.shapes import concrete_shapes
from .labels import NAMES_KEY, parse_names, resolve_preprocess
from .load import Source

# LOVI
from .normalize import normalize
from .options import Options
from .statistics import PRE_ACTIVATION, statistic
from .tapping import float_activation, pre_activation
from .taps import Tap, find_taps, named_taps
from .weights import scale_weights


@dataclass(frozen=True)
class Plan:
    """What the analysis of a model found: where its picture comes in, and where its scales end."""

    model: ir.Model
    ends: Ends
    taps: list[Tap]


@dataclass(frozen=True)
class Grafted:
    """A grafted model, not yet checked or saved."""

    proto: onnx.ModelProto
    metadata: Metadata
    taps: list[Tap]
    notes: tuple[str, ...]


def plan(source: Source, options: Options) -> Plan:
    """Find the image input, the scores and the taps of a loaded model.

    Raises:
        GraftError: The model takes no picture, has no usable scale, or a named tap is unknown.
    """
    model = ir.from_proto(source.proto)
    if source.path is not None:
        ir.external_data.set_base_dir(model.graph, source.path.parent)
    ends = find_ends(model, options.input_shape)
    shapes = concrete_shapes(model, ends)
    if isinstance(options.taps, str) and options.taps == "auto":
        return Plan(model, ends, find_taps(ends, shapes))
    names = options.taps.split(",") if isinstance(options.taps, str) else options.taps
    return Plan(model, ends, named_taps(model, names, ends, shapes))


def graft_branch(source: Source, options: Options) -> Grafted:
    """Append the saliency branch to the source's protobuf.

    The network's own nodes, inputs and outputs stay as they are; `source.proto` is extended in place.

    Raises:
        GraftError: See `plan`; or an output's name is taken.
    """
    found = plan(source, options)
    weights = scale_weights(options.weights, len(found.taps))
    names = output_names(tuple(options.outputs), len(found.taps))
    _refuse_taken_names(found.model, (*names, *((CLASS_INPUT,) if options.class_maps else ())))
    metadata = _metadata(source, found, options, weights, names)

    branch = Branch(found.model, source.opset)
    _grow(branch, found, options, weights)
    if options.inline:
        _inline(branch)
    branch.append_to(source.proto, {METADATA_KEY: metadata.to_json()})
    return Grafted(source.proto, metadata, found.taps, source.notes)


def _grow(branch: Branch, found: Plan, options: Options, weights: Sequence[float]) -> None:
    """The branch itself: one line for each arrow of the method."""
    canvas = Canvas.of(branch, found.ends)
    sizes = [_fixed_size(tap, found.ends) for tap in found.taps]
    maps = [
        _scale_map(branch, tap, f"scale_{k}", size, options)
        for k, (tap, size) in enumerate(zip(found.taps, sizes, strict=True), start=1)
    ]
    batch = canvas.batch

    combined = None
    if set(options.outputs) - {"scales", "lovi", "cam"}:
        step = combine(opset=branch.opset, sizes=sizes, size=canvas.size, weights=weights)
        combined = branch.call(step, *maps, *canvas.size_input, name="combine/map")
    if options.class_maps:
        from .cam.outputs import class_maps

        class_maps(branch, found, options, canvas, combined)
    if "lovi" in options.outputs:
        from .lovi import lovi

        step = lovi(opset=branch.opset, sizes=sizes, size=canvas.size)
        picture = branch.call(step, *maps, *canvas.size_input, name="lovi/rgb")
        branch.output(picture, LOVI, (batch, *canvas.dims, 3), ir.DataType.UINT8)
    if "saliency_map" in options.outputs and combined is not None:
        branch.output(combined, MAP, (batch, *canvas.dims), ir.DataType.FLOAT)
    if "scales" in options.outputs:
        for k, (value, size) in enumerate(zip(maps, sizes, strict=True), start=1):
            branch.output(value, scale_output(k), (batch, *size), ir.DataType.FLOAT)


def _scale_map(branch: Branch, tap: Tap, where: str, size: Size, options: Options) -> ir.Value:
    """One scale's normalised map, N×h×w: tap → statistic → normalise."""
    height, width = size
    before = options.statistic in PRE_ACTIVATION
    x = pre_activation(branch, tap, where) if before else float_activation(branch, tap.value, where)
    raw = statistic(
        options.statistic, opset=branch.opset, channels=tap.shape[1], height=height, width=width,
        epsilon=options.epsilon, nonnegative=tap.nonnegative and not before,
    )  # fmt: skip
    s = branch.call(raw, x, name=f"{where}/{options.statistic}")
    scaled = normalize(options.normalize, opset=branch.opset, height=height, width=width)
    return branch.call(scaled, s, name=f"{where}/{options.normalize}")


@dataclass(frozen=True)
class Canvas:
    """The picture's plane that maps are drawn on: its size where fixed, and how to learn it where free."""

    batch: int | str | None
    dims: tuple[int | str | None, int | str | None]
    """Height and width as the model declares them, free ones by their name."""
    size: Size
    """Height and width where fixed, None where free."""
    dynamic: ir.Value | None
    """int64 [2], height and width at run time; None where both are fixed."""

    @classmethod
    def of(cls, branch: Branch, ends: Ends) -> Canvas:
        declared = list(ends.image.shape) if ends.image.shape is not None else [None] * 4
        dims = [d if isinstance(d, int) else (d.value if d is not None else None) for d in declared]
        first = 2 if ends.layout == "NCHW" else 1
        dynamic = None
        if None in ends.free_size:
            shape = branch.node("Shape", ends.image, name="canvas/shape")
            axes = branch.constant("canvas/axes", np.array([first, first + 1], np.int64))
            dynamic = branch.node("Gather", shape, axes, name="canvas/size")
        return cls(dims[0], (dims[first], dims[first + 1]), ends.free_size, dynamic)

    @property
    def size_input(self) -> tuple[ir.Value, ...]:
        """The extra input of a step that draws on a free canvas."""
        return (self.dynamic,) if self.dynamic is not None else ()


def _fixed_size(tap: Tap, ends: Ends) -> Size:
    """Height and width of a tap, None where the picture's are free: then the tap's are too."""
    height, width = (
        None if free is None else s for s, free in zip(tap.shape[2:], ends.free_size, strict=True)
    )
    return height, width


def _inline(branch: Branch) -> None:
    """Replace the calls by their bodies. The new nodes keep the prefix that tells them from the network's."""
    InlinePass(criteria=lambda function: function.domain == DOMAIN)(branch.model)
    for number, node in enumerate(branch.added_nodes()):
        if not (node.name or "").startswith(NODE_PREFIX):
            node.name = f"{NODE_PREFIX}{node.op_type}_{number}"


def _refuse_taken_names(model: ir.Model, names: Sequence[str]) -> None:
    taken = {
        value.name: f"an output of node '{node.name}' ({node.op_type})"
        for node in model.graph
        for value in node.outputs
    }
    taken |= {value.name: "an input of the model" for value in model.graph.inputs}
    taken |= dict.fromkeys(model.graph.initializers, "an initializer of the model")
    for name in names:
        if name in taken:
            raise GraftError(f"the output '{name}' cannot be added: '{name}' is already {taken[name]}")


def _metadata(
    source: Source, found: Plan, options: Options, weights: Sequence[float], names: tuple[str, ...]
) -> Metadata:
    ends = found.ends
    own = {entry.key: entry.value for entry in source.proto.metadata_props}
    height, width = ends.size
    is_uint8 = ends.image.dtype == ir.DataType.UINT8
    taps = tuple(
        TapInfo(tap.name, (None, tap.shape[1], *_fixed_size(tap, ends)), weight)
        for tap, weight in zip(found.taps, weights, strict=True)
    )
    return Metadata(
        image=ImageInput(ends.image.name or "", ends.layout, ends.channels, height, width),
        scores=ends.scores.name or "",
        scores_are=scores_are(ends.scores),
        taps=taps,
        outputs=names,
        statistic=options.statistic,
        epsilon=options.epsilon,
        normalize=options.normalize,
        cam=options.cam if options.class_maps else None,
        preprocess=resolve_preprocess(options.preprocess, own, ends.channels, is_uint8),
        resize=options.resize,
        labels=_labels(ends, options, own.get(NAMES_KEY, "")),
        source_sha256=source.sha256,
    )


def _labels(ends: Ends, options: Options, names: str) -> tuple[str, ...]:
    """The user's labels, which must fit; else those of the file, if they do."""
    shape = ends.scores.shape
    classes = shape[1] if shape is not None and len(shape) > 1 and isinstance(shape[1], int) else None
    if options.labels is not None:
        if classes is not None and len(options.labels) != classes:
            raise GraftError(f"{len(options.labels)} labels for {classes} classes")
        return tuple(options.labels)
    labels = parse_names(names)
    return labels if classes in (None, len(labels)) else ()
