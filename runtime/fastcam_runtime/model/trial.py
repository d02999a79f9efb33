"""Run two forms of a model on the same inputs, and say where they differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnxruntime as ort

from ..contract import ARGMAX, CHOICE_INPUTS, Metadata
from .watching import pixels_of, watched

TOLERANCE = 1e-5
"""Largest relative difference that is accepted. Usually outputs are equal."""

Arrays = Mapping[str, np.ndarray]


def run_once(
    session: ort.InferenceSession, metadata: Metadata, feeds: Arrays, what: str = "it", *, loops: bool = False
) -> Arrays:
    """All outputs of a session by name; a required class input selects the highest score.

    `feeds` are the inputs except the class, `what` is the name of the model in messages. A model with `loops`
    may not end.

    Raises:
        ModelError: It takes too much memory, or too long; see `limits`.
        Exception: Any error of onnxruntime.
    """
    required = [value.name for value in session.get_inputs() if value.name in CHOICE_INPUTS]
    pictures = len(feeds[metadata.image.name])
    feeds = {**feeds, **{name: np.full(pictures, ARGMAX, np.int64) for name in required}}
    names = [output.name for output in session.get_outputs()]
    with watched(what, pixels_of(feeds.values()), loops=loops, trial=True) as options:
        return dict(zip(names, session.run(names, feeds, options), strict=True))


def difference(name: str, expected: Any, after: Arrays) -> str:
    """What happened to an output, as the end of a sentence: `changed the output 'x'`; empty if nothing."""
    if name not in after:
        return f"lost the output '{name}'"
    if not isinstance(expected, np.ndarray):
        return ""
    # numpy tests only numbers for NaN, and an output may hold strings.
    if np.array_equal(expected, after[name], equal_nan=expected.dtype.kind == "f"):
        return ""
    if expected.dtype.kind == "f" and expected.shape == after[name].shape:
        largest = np.max(np.abs(expected.astype(np.float64) - after[name]))
        relative = largest / max(float(np.max(np.abs(expected))), np.finfo(np.float32).tiny)
        if relative <= TOLERANCE:
            return ""
        return f"changed the output '{name}' by {relative:.1e} of its range"
    return f"changed the output '{name}'"
