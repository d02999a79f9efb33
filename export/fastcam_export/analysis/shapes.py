"""Concrete shapes of every tensor on the picture's path: inferred, or observed where inference fails."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime as ort
from fastcam_runtime.errors import ort_errors_as
from fastcam_runtime.limits import check_elements
from fastcam_runtime.model.feeds import make_feeds
from fastcam_runtime.model.session import WEIGHTS_FOLDER, quiet_options, start_session
from fastcam_runtime.model.watching import Runner

from ..errors import GraftError
from ..load.messages import external_tensors
from .ends import Ends
from .inference import infer
from .values import Dims, fixed_dims

Shapes = dict[str, tuple[int, ...]]
_USUAL_SIZES = ((48, 320), (32, 320), (32, 100), (640, 640), (256, 256), (112, 112), (64, 64))
"""Sizes to try where the assumed one does not work: lines of text first, whose height is often fixed."""
_SHAPE = "/shape of fastcam"
TypesAndShapes = dict[str, tuple[ir.DataType, tuple[int, ...]]]


def concrete_shapes(model: ir.Model, ends: Ends, folder: Path | None = None) -> Shapes:
    """Shapes by tensor name, for the concrete input shape of `ends`; a sequence of tensors has none.

    Shapes that ONNX cannot infer (behind computed Pads or Reshapes) are observed in one run, with external
    weights from `folder`. The element types that are found are set on the graph's values.
    """
    assert ends.image.dtype is not None
    inferred = infer(model.graph, model.graph, {ends.image: ends.shape})
    types = {name: value.dtype for name, value in inferred.items() if value.dtype is not None}
    found: TypesAndShapes = {ends.image.name or "": (ends.image.dtype, ends.shape)}
    for name, dtype in types.items():
        if (dims := fixed_dims(inferred[name])) is not None:
            found[name] = (dtype, dims)
    pixels = ends.shape[0] * ends.size[0] * ends.size[1]
    for name, (_, shape) in found.items():
        check_elements(f"the tensor '{name}'", shape, pixels)
    values = {v.name: v for node in ends.path for v in node.outputs if v.name}
    missing = [name for name in values if name not in found]
    if missing:
        found.update(_observed(model, ends, missing, types, folder))
    for name, (dtype, _) in found.items():
        if name in values:
            values[name].dtype = dtype
    return {name: shape for name, (_, shape) in found.items()}


def lasting_shapes(model: ir.Model, shapes: Shapes) -> dict[str, Dims]:
    """The shapes that hold for every picture, derived from those for one picture.

    If no input has a free dimension, these are the same. Otherwise only the ranks are kept: any dimension may
    depend on a free height, width or batch size.
    """
    inputs = [value for value in model.graph.inputs if not value.is_initializer()]
    if all(fixed_dims(value) is not None for value in inputs):
        return dict(shapes)
    return {name: (None,) * len(shape) for name, shape in shapes.items()}


def _find_weights(proto: onnx.ModelProto, folder: Path) -> str:
    """Replace the paths of external weights by their real paths, and return the folder that holds them all.

    A model cache may use symbolic links, which onnxruntime follows only for models loaded from a file.
    """
    named = [{entry.key: entry for entry in tensor.external_data} for tensor in external_tensors(proto)]
    entries = [keys["location"] for keys in named]
    files = [(folder / entry.value).resolve() for entry in entries]
    if not files:
        return str(folder.resolve())
    root: str = os.path.commonpath([file.parent for file in files])
    for entry, file in zip(entries, files, strict=True):
        entry.value = file.relative_to(root).as_posix()
    return root


def _observed(
    model: ir.Model, ends: Ends, names: list[str], types: Mapping[str, ir.DataType], folder: Path | None
) -> TypesAndShapes:
    """Run the model once, and read the shapes of the wanted tensors, some of whose `types` are known.

    To keep hundreds of tensors would take far more memory than the run: where the type is known, a node reads
    the shape alone.
    """
    try:
        results = observe(model, ends, names, folder, measured=types)
    except GraftError as error:
        other = _other_size(model, ends, folder)
        if other is not None:
            asked = ",".join(map(str, other))
            raise GraftError(f"an --input-shape is needed, such as {asked}, which works: {error}") from error
        raise GraftError(f"the shape of '{names[0]}' cannot be inferred, and {error}") from error
    return {
        name: (types[name], tuple(result.tolist()))
        if name in types
        else (ir.DataType.from_numpy(result.dtype), result.shape)
        for name, result in results.items()
    }


def _other_size(model: ir.Model, ends: Ends, folder: Path | None) -> tuple[int, ...] | None:
    """An input shape that a network of free size runs with, where it does not with the assumed one."""
    for size in _USUAL_SIZES:
        height, width = (fixed or usual for fixed, usual in zip(ends.free_size, size, strict=True))
        by_axis = {"N": ends.shape[0], "C": ends.channels, "H": height, "W": width}
        n, a, b, c = (by_axis[axis] for axis in ends.layout)
        if (n, a, b, c) != ends.shape:
            with suppress(GraftError):
                observe(model, replace(ends, shape=(n, a, b, c)), [ends.scores.name or ""], folder)
                return n, a, b, c
    return None


def observe(
    model: ir.Model,
    ends: Ends,
    names: Sequence[str],
    folder: Path | None = None,
    picture: np.ndarray | None = None,
    measured: Collection[str] = (),
) -> dict[str, np.ndarray]:
    """The tensors `names` of one run, by name; a sequence of tensors is left out.

    Of those that are `measured`, the result is the shape instead.

    All inputs are zeros, except the `picture` if one is given. External weights are in `folder`.

    Raises:
        GraftError: The network does not run.
    """
    proto = ir.to_proto(model)
    present = {output.name for output in proto.graph.output}
    read = [f"{name}{_SHAPE}" if name in measured else name for name in names]
    proto.graph.node.extend(
        onnx.helper.make_node("Shape", [name], [output])
        for name, output in zip(names, read, strict=True)
        if name in measured
    )
    proto.graph.output.extend(onnx.ValueInfoProto(name=name) for name in read if name not in present)
    options = quiet_options()
    # A fusion saves memory, and removes tensors: then only their shapes can be read. And onnxruntime may
    # replace an If by one of its branches, and forget the name of the result.
    fused = measured and not any(node.op_type == "If" for node in proto.graph.node)
    level = ort.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_BASIC if fused else level.ORT_DISABLE_ALL
    if folder is not None:
        options.add_session_config_entry(WEIGHTS_FOLDER, _find_weights(proto, folder))
    image = ends.image.name or ""
    shape = "×".join(map(str, ends.shape))
    with ort_errors_as(GraftError, f"the model does not run at input {shape} to learn it"):
        data = proto.SerializeToString()
        session = start_session(data, options)
        feeds = make_feeds(session.get_inputs(), image, ends.shape, np.zeros)
        if picture is not None:
            feeds[image] = picture
        results = Runner("the model", data)(session, read, feeds, trial=True)
    return {n: result for n, result in zip(names, results, strict=True) if isinstance(result, np.ndarray)}
