"""The graft: plan → (per tap) statistic → normalise → combine → LOVI, class maps → outputs + metadata."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnx
import onnx_ir as ir
from fastcam_runtime.contract import (
    CHOICE_INPUTS,
    DOMAIN,
    LOVI,
    MAP_BYTES,
    MAP_RGBA,
    METADATA_KEY,
    NODE_PREFIX,
    Metadata,
    output_names,
    scale_output,
)
from onnx_ir.passes.common import InlinePass

from .analysis.plan import Plan, plan
from .analysis.taps import Tap
from .authoring.branch import Branch
from .authoring.map_size import MapSize, read_map_size
from .authoring.ops import last_first
from .authoring.tap_input import pre_activation, quantized_tap, read_activated
from .choices import COMPILED, PRE_ACTIVATION
from .deploy.targets import TARGETS
from .errors import GraftError
from .load import LoadedModel
from .metadata.describe import describe_graft, for_others
from .method.approximate import Scales, first_channels, thin
from .method.class_maps import class_activation, class_products
from .method.combine import combine
from .method.layer import byte_map, overlay_layer
from .method.lovi import lovi
from .method.normalize import normalize
from .method.statistics import statistic
from .method.weights import scale_weights
from .options import COMBINED_OUTPUTS, Options


@dataclass(frozen=True)
class Grafted:
    """A grafted model, not yet checked or saved."""

    proto: onnx.ModelProto
    metadata: Metadata
    notes: tuple[str, ...]


def graft_branch(source: LoadedModel, options: Options) -> Grafted:
    """Append the saliency branch to the source's protobuf.

    The network's own nodes, inputs and outputs do not change; `source.proto` is extended in place.

    Raises:
        GraftError: See `plan`; or an output's name is taken, or a class map cannot be derived.
    """
    found = plan(source, options)
    weights = scale_weights(options.weights, len(found.taps))
    scales = thin(found.taps, weights, options.channel_share if options.needs_scales else 1.0)
    names = output_names(tuple(options.outputs), len(scales.taps))
    pixels = {"uint8": (MAP_BYTES,), "rgba": (MAP_RGBA,)}.get(options.map_output or "", ())
    choices = CHOICE_INPUTS if options.needs_class_maps else ()
    _refuse_taken_names(found.model, (*names, *pixels, *choices))
    metadata = describe_graft(source, found, scales, options, names)

    branch = Branch(found.model, source.opset)
    _grow(branch, found, scales, options)
    if options.inline:
        _inline(branch)
    present = source.metadata
    others = {key: text for key, text in for_others(metadata).items() if key not in present}
    branch.append_to(source.proto, {METADATA_KEY: metadata.to_json(), **others})
    return Grafted(source.proto, metadata, (*source.notes, *found.notes, *options.notes))


def _grow(branch: Branch, found: Plan, scales: Scales, options: Options) -> None:
    """Add the branch: one paragraph for each step of the method.

    onnxruntime also computes values that nothing reads. So the branch has only what the outputs need.
    """
    asked = set(options.outputs)
    map_size = read_map_size(branch, found.ends)
    sizes = [found.fixed_size(tap) for tap in scales.taps]

    maps: list[ir.Value] = []
    if options.needs_scales:
        maps = last_first(
            lambda k, tap: _scale_map(branch, found, tap, f"scale_{k + 1}", options), scales.taps
        )

    # onnxruntime orders nodes by walking back from the last node of the file, and from each node to its
    # latest input first. So nodes later in the file run earlier. The CAM needs the scores: it comes first.
    by_class: dict[str, ir.Value] = {}
    count: int | str | None = None
    if options.needs_class_maps:
        by_class["cam"], count = class_activation(branch, found, options, map_size)

    combined = None
    if asked.intersection(COMBINED_OUTPUTS):
        step = combine(opset=branch.opset, sizes=sizes, size=map_size.size, weights=scales.weights)
        combined = branch.call(step, *maps, *map_size.size_input, name="combine/map")
        if by_class:
            by_class |= class_products(branch, options, combined, by_class["cam"])

    if combined is not None and "saliency_map" in asked:
        branch.output(combined, "saliency_map", map_size.map_shape, ir.DataType.FLOAT)
    if combined is not None and options.map_output:
        _add_pixels(branch, combined, map_size, options.map_output)
    if "scales" in asked:
        for k, (value, size) in enumerate(zip(maps, sizes, strict=True), start=1):
            branch.output(value, scale_output(k), (map_size.batch, *size), ir.DataType.FLOAT)
    if "lovi" in asked:
        step = lovi(opset=branch.opset, sizes=sizes, size=map_size.size)
        picture = branch.call(step, *maps, *map_size.size_input, name="lovi/rgb")
        branch.output(picture, LOVI, (*map_size.map_shape, 3), ir.DataType.UINT8)
    for word, value in by_class.items():
        if word in asked:
            branch.output(value, f"saliency_{word}", (count, *map_size.dims), ir.DataType.FLOAT)


def _add_pixels(branch: Branch, combined: ir.Value, map_size: MapSize, kind: str) -> None:
    """Add an output with the combined map as bytes or as an overlay layer."""
    height, width = map_size.size
    if kind == "uint8":
        value = branch.call(byte_map(opset=branch.opset), combined, name="map/uint8")
        branch.output(value, MAP_BYTES, map_size.map_shape, ir.DataType.UINT8)
        return
    if height is None or width is None:
        raise GraftError("map output rgba: the network's size is free; fix it with --input-shape")
    step = overlay_layer(opset=branch.opset, height=height, width=width)
    value = branch.call(step, combined, name="map/rgba")
    branch.output(value, MAP_RGBA, (*map_size.map_shape, 4), ir.DataType.UINT8)


def _scale_map(branch: Branch, found: Plan, tap: Tap, where: str, options: Options) -> ir.Value:
    """One scale's normalised map, N×h×w: tap → statistic → normalise."""
    height, width = found.fixed_size(tap)
    before = options.statistic in PRE_ACTIVATION
    integers = quantized_tap(tap) if options.statistic == COMPILED else None
    inputs: tuple[ir.Value, ...] = integers or ()
    if integers is None:
        x = pre_activation(branch, tap, where) if before else read_activated(branch, tap, where)
        inputs = (first_channels(branch, x, tap, where),)
    raw = statistic(
        options.statistic, opset=branch.opset, channels=tap.channels, height=height, width=width,
        epsilon=options.epsilon, nonnegative=tap.nonnegative and not before, bound=tap.bound,
        quantized=integers is not None, integer_sums=not options.inline,
        fused=options.target is not None and TARGETS[options.target].fuses,
    )  # fmt: skip
    s = branch.call(raw, *inputs, name=f"{where}/{options.statistic}")
    scaled = normalize(options.normalize, opset=branch.opset, height=height, width=width)
    return branch.call(scaled, s, name=f"{where}/{options.normalize}")


def _inline(branch: Branch) -> None:
    """Replace function calls by their bodies. All nodes of the branch keep the prefix `fastcam/`."""
    InlinePass(criteria=lambda function: function.domain == DOMAIN)(branch.model)
    for number, node in enumerate(branch.added_nodes()):
        if not (node.name or "").startswith(NODE_PREFIX):
            node.name = f"{NODE_PREFIX}{node.op_type}_{number}"
        # A function's attribute becomes a Constant with `value_float`, which not every runtime supports.
        scalar = node.attributes.pop("value_float", None) if node.op_type == "Constant" else None
        if scalar is not None:
            node.attributes["value"] = ir.AttrTensor("value", ir.tensor(np.float32(scalar.as_float())))


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
