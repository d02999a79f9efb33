"""Class maps: CAM → bilinear upsampling to the input's size → min–max → products with the combined map."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx_ir as ir
from fastcam_runtime.contract import ARGMAX, BOX_INPUT, CLASS_INPUT, CLASSES

from ..analysis.plan import Plan
from ..analysis.taps import Tap
from ..authoring.branch import Branch
from ..authoring.map_size import MapSize
from ..authoring.ops import Ops, Step, make_function
from ..cam import SCALES, class_activation_map, layer_activation_maps, minmax
from ..choices import CAM_METHODS, CLASS_INPUTS, LAYERCAM
from ..detect.box_gradient import box_maps
from ..detect.class_map import detector_activation, enlarged
from ..detect.find import Detector
from ..errors import GraftError
from ..options import Options
from .bilinear import upsample


def class_activation(
    branch: Branch, found: Plan, options: Options, map_size: MapSize
) -> tuple[ir.Value, int | str | None]:
    """The normalised CAM at the picture's size, N×H×W, and N as the file declares it.

    The class is the input `saliency_class`. It is optional unless the options require it: the default is the
    arg-max. If the head allows it, one image can have any number of classes, with a map for each.

    Raises:
        GraftError: The head holds an operator whose gradient is not known.
    """
    # A fixed batch needs a default of the same length. With a free batch a single value is broadcast.
    default = np.full(map_size.batch if isinstance(map_size.batch, int) else 1, ARGMAX, np.int64)
    optional = options.class_input == CLASS_INPUTS[0]
    wanted = branch.input(
        CLASS_INPUT, ir.DataType.INT64, (map_size.batch,), default=default if optional else None
    )
    if isinstance(found.detector, Detector) and options.cam == LAYERCAM:
        raise GraftError(f"{LAYERCAM} explains the scores of a classifier; for a detector take gradcam")
    if isinstance(found.detector, Detector) and options.cam is not None:
        box = branch.input(
            BOX_INPUT, ir.DataType.INT64, (map_size.batch,), default=default if optional else None
        )
        maps = box_maps(
            branch, found.detector, found.ends.image, map_size, wanted, box,
            shapes=found.shapes, method=options.cam, epsilon=options.cam_epsilon,
        )  # fmt: skip
        return enlarged(branch, maps, map_size), map_size.batch
    if isinstance(found.detector, Detector):
        one_picture = map_size.batch == 1
        if one_picture:
            wanted.shape = ir.Shape([CLASSES])
        value = detector_activation(branch, found.detector, map_size, wanted, one_picture=one_picture)
        return value, CLASSES if one_picture else map_size.batch
    try:
        _refuse_without_classes(found)
        if options.cam == LAYERCAM:
            return _layercam(branch, found, map_size, wanted), map_size.batch
        tap = found.taps[-1]
        cam = class_activation_map(
            branch, tap, found.logits, wanted,
            shapes=found.shapes, method=options.cam or CAM_METHODS[0], epsilon=options.cam_epsilon,
        )  # fmt: skip
    except GraftError as error:
        if found.detector is None:
            raise
        raise GraftError(f"{error}; and no detector is recognised: {found.detector}") from error
    normalised = branch.call(
        minmax(branch.opset), _enlarged(branch, found, tap, map_size, cam.value, "cam"), name="cam/minmax"
    )
    if not cam.any_classes or (isinstance(map_size.batch, int) and map_size.batch > 1):
        return normalised, map_size.batch
    wanted.shape = ir.Shape([CLASSES])
    # With a free batch there may be one class for many images. Then there is one map per image.
    return normalised, CLASSES if map_size.batch == 1 else None


def _layercam(branch: Branch, found: Plan, map_size: MapSize, wanted: ir.Value) -> ir.Value:
    """The mean of the deepest scales' LayerCAMs, each from 0 to 1, then min–max."""
    taps = found.taps[-SCALES:]
    maps = layer_activation_maps(branch, taps, found.logits, wanted, shapes=found.shapes)
    total: ir.Value | None = None
    for number, (tap, value) in enumerate(zip(taps, maps, strict=True)):
        large = _enlarged(branch, found, tap, map_size, value, f"cam/layer_{number}")
        # The sum instead of the mean: min–max makes them the same.
        total = large if total is None else branch.node("Add", total, large, name="cam/sum")
    assert total is not None
    return branch.call(minmax(branch.opset), total, name="cam/minmax")


def _enlarged(
    branch: Branch, found: Plan, tap: Tap, map_size: MapSize, value: ir.Value, where: str
) -> ir.Value:
    """A map of the tap's size, N×h×w, at the picture's."""
    step = upsample(opset=branch.opset, size_from=found.fixed_size(tap), size_to=map_size.size)
    return branch.call(step, value, *map_size.size_input, name=f"{where}/upsampled")


def _refuse_without_classes(found: Plan) -> None:
    if not found.has_classes:
        shape = "×".join("?" if size is None else str(size) for size in found.scores_shape or ())
        name = found.ends.scores.name
        what = f"has a value for each of {shape}" if shape else "is one value per picture"
        raise GraftError(f"no class map: '{name}' {what}, not one score per class")


def class_products(
    branch: Branch, options: Options, combined: ir.Value, cam: ir.Value
) -> dict[str, ir.Value]:
    """The requested products of the combined map and the CAM, N×H×W each, by their name in `--outputs`."""
    products = {"fastcam": fast_cam, "nonclass": non_class}
    return {
        word: branch.call(product(branch.opset), combined, cam, name=f"cam/{word}")
        for word, product in products.items()
        if word in options.outputs
    }


def fast_cam(opset: int) -> Step:
    """combined · CAM: where the network looks for evidence of the class."""
    return _product("FastCam", opset, "combined · CAM", lambda op, combined, cam: op.Mul(combined, cam))


def non_class(opset: int) -> Step:
    """combined · (1 − CAM): where the network looks, except for evidence of the class.

    Written as combined − combined · CAM: onnxruntime then runs the combined map before the CAM, see `graft`.
    """

    def body(op: Ops, combined: ir.Value, cam: ir.Value) -> ir.Value:
        return op.Sub(combined, op.Mul(combined, cam))

    return _product("NonClass", opset, "combined · (1 − CAM)", body)


def _product(name: str, opset: int, doc: str, body: Callable[[Ops, ir.Value, ir.Value], ir.Value]) -> Step:
    return Step(make_function(name, opset, ["combined", "cam"], body, output="map", doc=doc))
