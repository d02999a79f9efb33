"""Check a grafted model: it is valid, and its original outputs have not changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from fastcam_runtime.contract import LOVI, Metadata
from fastcam_runtime.errors import first_line, ort_errors_as
from fastcam_runtime.model.feeds import random_feeds
from fastcam_runtime.model.session import quiet_options, start_session
from fastcam_runtime.model.trial import TOLERANCE, Arrays, difference, run_once
from fastcam_runtime.model.watching import has_loop
from fastcam_runtime.text import count

from .errors import GraftError


def check(original: Path | bytes, grafted: Path | bytes, metadata: Metadata) -> None:
    """Validate the grafted model and run both on the same random picture.

    Raises:
        GraftError: The model is invalid or does not run, an original output changed, a map is not finite
            and within 0…1, or there is not one for each picture.
    """
    # The checker refuses models that onnxruntime runs, for example with outputs that have no shape. Only
    # errors that the original does not have are errors of the graft.
    wrong = _what_is_wrong(grafted)
    if wrong and not _what_is_wrong(original):
        raise GraftError(f"the grafted model is not valid ONNX: {wrong}")
    before, feeds = _run(original, "the original model", metadata, None)
    after, _ = _run(grafted, "the grafted model", metadata, feeds)
    for name, expected in before.items():
        if why := difference(name, expected, after):
            raise GraftError(f"the graft {why}")
    pictures = len(feeds[metadata.image.name])
    for name in metadata.outputs:
        if len(after[name]) != pictures:
            raise GraftError(
                f"the network gives {len(after[name])} maps for {count(pictures, 'picture')}, not one each"
            )
        if name != LOVI:
            _check_map(name, after[name])


def _what_is_wrong(model: Path | bytes) -> str:
    try:
        onnx.checker.check_model(str(model) if isinstance(model, Path) else model)
    except onnx.checker.ValidationError as error:
        return first_line(error)
    return ""


def _run(model: Path | bytes, what: str, metadata: Metadata, feeds: Arrays | None) -> tuple[Arrays, Arrays]:
    """Run a model once on the CPU, in standard operators; without `feeds`, on random inputs.

    Returns the outputs and the inputs, by name. An error calls the model `what`.

    Raises:
        GraftError: It does not run.
    """
    options = quiet_options()
    # All fusions, but not the blocked memory layout, which would store every weight twice.
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    source: Any = str(model) if isinstance(model, Path) else model
    with ort_errors_as(GraftError, f"{what} does not run in onnxruntime"):
        session = start_session(source, options)
        if feeds is None:
            feeds = random_feeds(session.get_inputs(), metadata)
        return run_once(session, metadata, feeds, what, loops=has_loop(model)), feeds


def _check_map(name: str, values: np.ndarray) -> None:
    if not np.all(np.isfinite(values)):
        raise GraftError(f"the output '{name}' is not finite on a random picture")
    low, high = float(values.min()), float(values.max())
    if low < -TOLERANCE or high > 1 + TOLERANCE:
        raise GraftError(f"the output '{name}' leaves 0…1 on a random picture: {low:.3g}…{high:.3g}")
