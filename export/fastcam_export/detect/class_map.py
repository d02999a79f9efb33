"""A detector's class map at the picture's size: the largest over the strides, then min–max."""

from __future__ import annotations

import onnx_ir as ir

from ..authoring.branch import Branch
from ..authoring.map_size import MapSize
from ..authoring.ops import Ops, Step, make_function
from ..cam.selection import minmax
from ..errors import GraftError
from ..method.bilinear import upsample
from .find import Detector
from .rows_in_graph import read_outputs
from .score_grid import score_grids


def detector_activation(
    branch: Branch, detector: Detector, map_size: MapSize, wanted: ir.Value, *, one_picture: bool
) -> ir.Value:
    """The normalised class map, float32 [K,H,W].

    Args:
        branch: Gets the nodes.
        detector: The head.
        map_size: The size of the map.
        wanted: `saliency_class`.
        one_picture: The batch is 1, and any number of classes may be asked for.

    Raises:
        GraftError: The network has no grid of scores.
    """
    head = detector.scores
    if head is None:
        raise GraftError(
            f"no class map: '{detector.head.boxes[0]}' holds chosen boxes, and the graph has no grid of "
            "scores; saliency_map works without class maps"
        )
    size = map_size.size_input[0] if map_size.size_input else None
    values = read_outputs(branch, head, branch.model)
    grids = score_grids(branch, head, values, wanted, one_picture=one_picture, size=size)
    large = [
        branch.call(
            upsample(opset=branch.opset, size_from=own, size_to=map_size.size),
            grid,
            *map_size.size_input,
            name=f"cam/upsampled_{k + 1}",
        )
        for k, (grid, own) in enumerate(zip(grids.maps, grids.sizes, strict=True))
    ]
    largest = large[0]
    if len(large) > 1:
        largest = branch.call(largest_of(branch.opset, len(large)), *large, name="cam/largest")
    return branch.call(minmax(branch.opset), largest, name="cam/minmax")


def largest_of(opset: int, count: int) -> Step:
    """The largest of `count` maps in each place, [N,H,W]."""
    names = [f"U{k + 1}" for k in range(count)]

    def body(op: Ops, *maps: ir.Value) -> ir.Value:
        result: ir.Value = op.Max(*maps)
        return result

    doc = "The largest value over the strides."
    return Step(make_function("LargestOverStrides", opset, names, body, output="L", doc=doc))
