"""Class maps: CAM → bilinear to the picture's size → min–max, and its products with the combined map."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
from fastcam_runtime.contract import ARGMAX, CLASS_INPUT

from .authoring import Ops, Step, make_function
from .bilinear import upsample
from .branch import Branch
from .cam import class_activation_map, minmax
from .canvas import Canvas
from .options import Options
from .plan import Plan


def class_maps(
    branch: Branch, found: Plan, options: Options, canvas: Canvas, combined: ir.Value | None
) -> dict[str, ir.Value]:
    """The asked class maps, N×H×W each, by their word in `--outputs`.

    The class is the input `saliency_class`, which need not be fed: its default is the arg-max.

    Raises:
        GraftError: The head holds an operator whose gradient is not known.
    """
    tap = found.taps[-1]
    size = found.fixed_size(tap)
    # A fixed batch wants a default of its own length; a free one broadcasts a single value.
    default = np.full(canvas.batch if isinstance(canvas.batch, int) else 1, ARGMAX, np.int64)
    wanted = branch.optional_input(CLASS_INPUT, default, (canvas.batch,))
    small = class_activation_map(
        branch, tap.value, found.ends.scores, wanted, method=options.cam, epsilon=options.cam_epsilon,
        tap_shape=(None, tap.shape[1], *size), nonnegative=tap.nonnegative,
    )  # fmt: skip
    step = upsample(opset=branch.opset, size_from=size, size_to=canvas.size)
    large = branch.call(step, small, *canvas.size_input, name="cam/upsampled")
    cam = branch.call(minmax(branch.opset), large, name="cam/minmax")
    maps = {"cam": cam}
    for word, product in (("fastcam", fast_cam), ("nonclass", non_class)):
        if word in options.outputs:
            assert combined is not None
            maps[word] = branch.call(product(branch.opset), combined, cam, name=f"cam/{word}")
    return {word: value for word, value in maps.items() if word in options.outputs}


def fast_cam(opset: int) -> Step:
    """combined · CAM: where the network looks, as far as the class is concerned."""

    def body(op: Ops, combined: ir.Value, cam: ir.Value) -> ir.Value:
        result: ir.Value = op.Mul(combined, cam)
        return result

    return Step(
        make_function("FastCam", opset, ["combined", "cam"], body, output="map", doc="combined · CAM")
    )


def non_class(opset: int) -> Step:
    """combined · (1 − CAM): where the network looks for other reasons."""

    def body(op: Ops, combined: ir.Value, cam: ir.Value) -> ir.Value:
        result: ir.Value = op.Mul(combined, op.Sub(1.0, cam))
        return result

    return Step(
        make_function("NonClass", opset, ["combined", "cam"], body, output="map", doc="combined · (1 − CAM)")
    )
