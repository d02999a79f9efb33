"""The class scores of a network, and the logits behind them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import onnx_ir as ir
from fastcam_runtime.classes import are_class_scores

from .inference import infer
from .operators import facts
from .values import Dims, known_dims

if TYPE_CHECKING:
    from .ends import Ends
    from .shapes import Shapes

_OTHERS = (ir.DataType.INT64, ir.DataType.INT32, ir.DataType.BOOL, ir.DataType.STRING)


def find_logits(scores: ir.Value) -> tuple[ir.Value, str]:
    """The logits behind a model's scores, and what the scores are.

    Returns:
        The input of a Softmax, LogSoftmax or Sigmoid at the very end, else `scores` itself; and
        `probabilities`, or `logits` where a softmax is still to be applied.
    """
    value = scores
    while (node := value.producer()) is not None and node.domain == "":
        source = node.inputs[0] if node.inputs else None
        if source is None:
            break
        operator = facts(node.op_type)
        if operator.scores_are is not None:
            return source, operator.scores_are
        if not operator.rearranges:
            break
        value = source
    return scores, "logits"


def ends_in_probabilities(scores: ir.Value) -> bool:
    """Whether a Softmax, LogSoftmax or Sigmoid makes the scores."""
    return find_logits(scores)[0] is not scores


def scores_of_one(model: ir.Model, ends: Ends, shapes: Shapes) -> Dims | None:
    """The shape of one picture's scores, None for what depends on the picture; None if nothing is known.

    An output that has not one item per picture, such as the rows of some detectors, keeps its whole shape.
    """
    name = ends.scores.name or ""
    dims = list(known_dims(ends.scores) or (None,) * len(shapes.get(name, ())))
    if not dims:
        return None
    if None in ends.free_size and len(dims) == len(shapes.get(name, ())):
        # A file that was made for one size may still declare what it gave then.
        dims[1:] = [size if size == seen else None for size, seen in zip(dims, shapes[name], strict=True)][1:]
    if None in dims[1:]:
        # Declared as free, but perhaps known from the weights, or fixed as the picture is.
        inferred = infer(model.graph, model.graph, {}).get(name)
        known = known_dims(inferred) if inferred is not None else None
        dims = _filled(dims, known or dims)
    if (
        None in dims[1:]
        and None not in ends.free_size
        and not depends_on_content(ends.path)
        and name in shapes
    ):
        dims = _filled(dims, shapes[name])
    batch = (known_dims(ends.image) or (None,))[0]
    if (
        dims[0] is None
        and depends_on_content(ends.path)
        and shapes.get(name, ends.shape)[:1] != ends.shape[:1]
    ):
        return tuple(dims)  # as many rows as there are objects
    if dims[0] in (None, batch) or (dims[0] == 1 and batch is None):
        return tuple(dims[1:])
    return (None, *dims) if are_class_scores(dims) else tuple(dims)


def _filled(declared: list[int | None], found: Dims | list[int | None]) -> list[int | None]:
    """The declared dimensions, the free ones filled in; those found where the file declares another rank."""
    if len(declared) != len(found):
        return list(found)
    return [size or other for size, other in zip(declared, found, strict=True)]


def depends_on_content(path: Sequence[ir.Node]) -> bool:
    """Whether a shape depends on what the picture shows."""
    return any(node.op_type in ("NonMaxSuppression", "NonZero", "Unique", "Compress") for node in path)


def holds_no_numbers(value: ir.Value) -> bool:
    """Whether an output holds indices, names or flags, and so no scores."""
    return value.dtype in _OTHERS
