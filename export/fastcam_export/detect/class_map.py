"""A detector's class map at the picture's size: the maximum over the strides, then min–max."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from ..authoring.branch import Branch
from ..authoring.map_size import MapSize
from ..authoring.ops import Ops, Step, make_function
from ..cam.selection import minmax, scaled
from ..errors import GraftError
from ..method.bands import Bands
from ..method.bilinear import FreeSize, interpolate_free, is_static, map_positions, matrix
from .find import Detector
from .rows_in_graph import read_scores
from .score_grid import ScoreGrids, score_grids


def detector_activation(
    branch: Branch, detector: Detector, map_size: MapSize, wanted: ir.Value, *, one_picture: bool
) -> ir.Value:
    """The normalised class map of the score grid, float32 [K,H,W].

    Args:
        branch: Gets the nodes.
        detector: The head.
        map_size: The size of the map.
        wanted: `saliency_class`.
        one_picture: The batch is 1, and any number of classes is allowed.

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
    source = read_scores(branch, head, branch.model, size)
    grids = score_grids(branch, source, wanted, one_picture=one_picture)
    return enlarged(branch, grids, map_size)


def enlarged(branch: Branch, grids: ScoreGrids, map_size: MapSize) -> ir.Value:
    """The largest of the maps in each place, at the picture's size, normalised to 0…1."""
    if is_static(map_size.size, *grids.sizes):
        step = score_map(opset=branch.opset, sizes=grids.sizes, size=map_size.size)
        return branch.call(step, *grids.maps, name="cam/map")
    step = largest_free(opset=branch.opset, count=len(grids.sizes))
    large = branch.call(step, *grids.maps, *map_size.size_input, name="cam/largest")
    return branch.call(minmax(branch.opset), large, name="cam/minmax")


def score_map(*, opset: int, sizes: Sequence[FreeSize], size: FreeSize) -> Step:
    """The step from maps one after the other, [N,Σh·w], to the class map [N,H,W], all of fixed sizes.

    The class map is the pixelwise maximum of the maps, each upsampled as by `upsample`, scaled to 0…1 as by
    `minmax`. The rows are upsampled in bands, as in `combine`.
    """
    constants = map_positions(sizes, size)
    lengths = constants["lengths"].tolist()
    bands = [Bands.of([height], constants["rows"].shape[2]) for height, _ in lengths]
    own_rows = {f"rows{k + 1}": band.rows for k, band in enumerate(bands)}
    constants = {"lengths": constants["lengths"], **own_rows, "columns": constants["columns"]}

    def body(op: Ops, flat: ir.Value, lengths_input: ir.Value, *inputs: ir.Value) -> ir.Value:
        *rows, columns = inputs
        areas = [height * width for height, width in lengths]
        large = []
        for k, part in enumerate(op.split(flat, areas, axis=1) if len(areas) > 1 else [flat]):
            width = op.Gather(op.Gather(lengths_input, k), 1)
            wide = op.MatMul(op.Reshape(part, [0, *lengths[k]]), matrix(op, op.Gather(columns, k), width))
            large.append(bands[k].product(op, rows[k], wide))
        return scaled(op, _max(op, large))

    doc = "The largest over the strides of the maps, each interpolated bilinearly to one size, as 0…1."
    return Step(make_function("ScoreMap", opset, ["M", *constants], body, output="map", doc=doc), constants)


def largest_free(*, opset: int, count: int) -> Step:
    """The step from maps [N,h,w], one per stride, and `size`, int64 [2], to their maximum [N,H,W]."""

    def body(op: Ops, *inputs: ir.Value) -> ir.Value:
        *maps, wanted = inputs
        return _max(op, [interpolate_free(op, m, wanted) for m in maps])

    doc = "The largest over the strides of the maps, each interpolated bilinearly to one size."
    inputs = [*(f"M{k + 1}" for k in range(count)), "size"]
    return Step(make_function("MaxOverStridesDynamic", opset, inputs, body, output="L", doc=doc))


def _max(op: Ops, maps: Sequence[ir.Value]) -> ir.Value:
    return op.Max(*maps) if len(maps) > 1 else maps[0]
