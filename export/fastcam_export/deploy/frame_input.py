"""Take the camera's frame: resize and normalise in the graph, for programs without preprocessing.

The steps are those of the runtime's preprocessing: a side that is at least twice too large is halved by
averaging, repeatedly, then resized bilinearly. The runtime rounds to bytes in between, the graph does not.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx_ir as ir
from fastcam_runtime.contract import METADATA_KEY, NODE_PREFIX, FrameInput, Metadata
from fastcam_runtime.image import Geometry, Rect

from ..authoring.ops import Ops
from ..errors import GraftError
from .frame_size import FRAME

_GRAY = np.array([0.299, 0.587, 0.114], np.float32).reshape(1, 3, 1, 1)


def take_frames(model: ir.Model, metadata: Metadata, frame: FrameInput) -> Metadata:
    """Replace the image input by one for a frame: uint8, height × width × channels, red first.

    Args:
        model: A grafted model; it is changed.
        metadata: That of the model.
        frame: Size and kind of the frames.

    Returns:
        The metadata, which are in the model already.

    Raises:
        GraftError: The network takes more than one picture at a time, or has an input of that name.
    """
    graph = model.graph
    image = next(value for value in graph.inputs if value.name == metadata.image.name)
    batch = image.shape[0] if image.shape is not None else None
    if isinstance(batch, int) and batch != 1:
        raise GraftError(f"frame input: the network takes {batch} pictures at a time, not one")
    if any(value.name == FRAME for value in graph.inputs):
        raise GraftError(f"frame input: the network has an input named '{FRAME}' already")
    shape = ir.Shape([frame.height, frame.width, frame.channels])
    source = ir.Value(name=FRAME, shape=shape, type=ir.TensorType(ir.DataType.UINT8))
    op = Ops(model.opset_imports[""])
    result = _prepare(op, source, metadata, frame, image.dtype or ir.DataType.FLOAT)
    for number, node in enumerate(op.nodes):
        node.name = f"{NODE_PREFIX}{FRAME}/{node.op_type}_{number}"
        for value in node.outputs:
            value.name = f"{NODE_PREFIX}{FRAME}/{number}"
    ir.convenience.replace_all_uses_with(image, result)
    graph.inputs[list(graph.inputs).index(image)] = source
    result.name, result.shape, result.type = image.name, image.shape, image.type
    graph.insert_before(graph[0], op.nodes)
    marked = replace(metadata, frame=frame)
    model.metadata_props[METADATA_KEY] = marked.to_json()
    return marked


def _prepare(op: Ops, frame: ir.Value, metadata: Metadata, size: FrameInput, dtype: ir.DataType) -> ir.Value:
    """The network's input, 1×C×H×W or 1×H×W×C, from the frame."""
    image, pre = metadata.image, metadata.preprocess
    if pre.order not in ("RGB", "BGR", "GRAY"):
        raise GraftError(f"frame input: for networks of gray or colour pictures, not {pre.order}")
    geometry = Geometry.lay(
        (size.height, size.width), (image.height, image.width), metadata.resize, pre.placement
    )
    x = op.Cast(
        op.Unsqueeze(op.Transpose(_seen(op, frame, geometry, size), perm=[2, 0, 1]), [0]),
        to=ir.DataType.FLOAT,
    )
    x = _shrink(op, x, (geometry.seen.height, geometry.seen.width), geometry.placed)
    if pre.order == "GRAY":
        x = op.reduce("ReduceSum", op.Mul(x, _GRAY), [1])
    elif pre.order == "BGR":
        x = op.Gather(x, [2, 1, 0], axis=1)
    if pre.pad is not None:
        x = _pad(op, x, geometry, float(pre.pad))
    mean, std = (np.array(values, np.float32).reshape(1, -1, 1, 1) for values in (pre.mean, pre.std))
    x = op.Mul(op.Sub(x, mean), 1 / std)
    if pre.pad is None:
        x = _pad(op, x, geometry, 0.0)
    if image.layout == "NHWC":
        x = op.Transpose(x, perm=[0, 2, 3, 1])
    if dtype == ir.DataType.UINT8:
        x = op.Clip(op.Round(x), 0.0, 255.0)
    return x if dtype == ir.DataType.FLOAT else op.Cast(x, to=dtype)


def _seen(op: Ops, frame: ir.Value, geometry: Geometry, size: FrameInput) -> ir.Value:
    """The part of the frame that the network sees, without opacity: H×W×3."""
    seen = geometry.seen
    if size.channels == 3 and (seen.height, seen.width) == (size.height, size.width):
        return frame
    ends = [seen.y + seen.height, seen.x + seen.width, 3]
    return op.Slice(frame, [seen.y, seen.x, 0], ends, [0, 1, 2])


def _shrink(op: Ops, x: ir.Value, shape: tuple[int, int], placed: Rect) -> ir.Value:
    """Halve large sides by averaging, repeatedly, then interpolate. Odd sides lose their last line."""
    height, width = shape
    while height >= 2 * placed.height or width >= 2 * placed.width:
        steps = [2 if height >= 2 * placed.height else 1, 2 if width >= 2 * placed.width else 1]
        x = op.AveragePool(x, kernel_shape=steps, strides=steps)
        height, width = height // steps[0], width // steps[1]
    if (height, width) != (placed.height, placed.width):
        sizes = [1, 3, placed.height, placed.width]
        x = op.Resize(x, None, None, sizes, mode="linear", coordinate_transformation_mode="half_pixel")
    return x


def _pad(op: Ops, x: ir.Value, geometry: Geometry, value: float) -> ir.Value:
    """Add the bars of `letterbox`, filled with the padding value."""
    (height, width), placed = geometry.input, geometry.placed
    if (placed.height, placed.width) == (height, width):
        return x
    below, right = height - placed.y - placed.height, width - placed.x - placed.width
    return op.Pad(x, [0, 0, placed.y, placed.x, 0, 0, below, right], value)
