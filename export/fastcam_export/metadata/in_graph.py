"""A preprocessing inside the graph: leading Sub, Div, Mul, Add or BatchNormalization by constants."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
from fastcam_runtime.contract import PREPROCESS

from ..analysis.values import constant
from .clue import Clue, ModelFile

_CARRIED = ("Cast", "Identity", "Transpose")
_WIDEST = 10.0
"""A normalised picture spans a few units: ImageNet's −2.1…2.6, for some networks −4…4."""
_NARROWEST = 0.4


def read(file: ModelFile) -> Clue | None:
    """The range that the first nodes expect: 0…255 or 0…1. Different means show the channel order."""
    found = _first_nodes(file)
    if found is None:
        return None
    names, slope, offset = found
    span = float(np.abs(slope).max())
    if np.all(slope == 1) and float(offset.max()) < -2:
        preset = "raw255"  # only means are subtracted
    elif _NARROWEST <= 255 * span <= _WIDEST:
        preset = "raw255"
    elif _NARROWEST <= span <= _WIDEST and np.any(offset != 0):
        preset = "unit"
    else:
        return None
    pre = PREPROCESS[preset]
    means = -offset / slope
    # The mean of photos is reddish: in BGR order the last of the three is the largest.
    bgr = means.size == 3 and means[2] > 1.02 * means[0] > 0
    order = "BGR" if bgr else "RGB"
    doubt = "" if means.size == 3 and len(set(means.tolist())) > 1 else f", order {order} assumed"
    return Clue(
        f"the graph, which starts with {', '.join(names)}{doubt}",
        type(pre)(order, pre.mean, pre.std),
    )


def _first_nodes(file: ModelFile) -> tuple[list[str], np.ndarray, np.ndarray] | None:
    """The arithmetic on the picture as slope·x + offset, per channel or one for all, else None."""
    value: ir.Value = file.image
    slope, offset = np.ones(1), np.zeros(1)
    names: list[str] = []
    for node in file.nodes:
        if value not in node.inputs or len(value.uses()) != 1:
            break
        if node.op_type in _CARRIED:
            value = node.outputs[0]
            continue
        step = _step(node, value)
        if step is None:
            break
        slope, offset = slope * step[0], offset * step[0] + step[1]
        names.append(node.op_type)
        value = node.outputs[0]
    return (names, slope, offset) if names and np.all(slope != 0) else None


def _step(node: ir.Node, value: ir.Value) -> tuple[np.ndarray, np.ndarray] | None:
    """One node as slope and offset; None if it is not arithmetic with constants per channel."""
    if node.op_type == "BatchNormalization":
        given = [_numbers(v) for v in node.inputs[1:5]]
        if any(numbers is None for numbers in given):
            return None
        scale, shift, mean, variance = (np.asarray(numbers) for numbers in given)
        slope = scale / np.sqrt(variance + node.attributes.get_float("epsilon", 1e-5))
        return slope, shift - slope * mean
    if node.op_type not in ("Sub", "Div", "Mul", "Add") or len(node.inputs) != 2:
        return None
    first = node.inputs[0] is value
    other = _numbers(node.inputs[1 if first else 0])
    if other is None or other.size not in (1, 3) or (not first and node.op_type in ("Sub", "Div")):
        return None
    if node.op_type in ("Add", "Sub"):
        return np.ones(1), other if node.op_type == "Add" else -other
    with np.errstate(divide="ignore"):
        return (other if node.op_type == "Mul" else 1 / other), np.zeros(1)


def _numbers(value: ir.Value | None) -> np.ndarray | None:
    found = constant(value) if value is not None else None
    return None if found is None else np.asarray(found, np.float64).reshape(-1)
