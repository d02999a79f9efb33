"""The class scores of a network, and the logits behind them."""

from __future__ import annotations

import onnx_ir as ir
from fastcam_runtime.classes import are_class_scores, class_count

from .operators import facts
from .values import known_dims

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


def describe_scores(scores: ir.Value, scores_are: str) -> str:
    """`scores_are` for class scores; else a text that says what the output holds instead."""
    sizes = known_dims(scores) or ()
    if holds_no_numbers(scores):
        return f"of {scores.dtype}, no scores: no labels, no class maps"
    if are_class_scores(sizes[1:]):
        return scores_are
    listed = "×".join("?" if size is None else str(size) for size in sizes[1:])
    return f"one for each of {listed}, not for each class: no labels, no class maps"


def count_classes(scores: ir.Value) -> int | None:
    """The number of classes; None if it is free, or if there is not one score per class."""
    return class_count(known_dims(scores) or ())


def holds_no_numbers(value: ir.Value) -> bool:
    """Whether an output holds indices, names or flags, and so no scores."""
    return value.dtype in _OTHERS
