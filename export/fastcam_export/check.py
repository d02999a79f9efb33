"""Check a grafted model: it is valid, and its original outputs have not changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from fastcam_runtime import native
from fastcam_runtime.contract import ARGMAX, CLASS_INPUT, LOVI, Metadata
from fastcam_runtime.errors import first_line
from fastcam_runtime.preprocess import Preprocessor
from fastcam_runtime.text import count

from .analysis.feeds import make_feeds
from .errors import GraftError

TOLERANCE = 1e-5
"""Largest relative difference that an original output may have. Usually there is none."""

Arrays = Mapping[str, np.ndarray]


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
    before, feeds = run(original, "the original model", metadata, None)
    after, _ = run(grafted, "the grafted model", metadata, feeds)
    for name, expected in before.items():
        compare(name, expected, after, "the graft")
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


def run(
    model: Path | bytes, what: str, metadata: Metadata, feeds: Arrays | None, *, compiled: bool = False
) -> tuple[Arrays, Arrays]:
    """Run a model once on the CPU.

    Args:
        model: A file, or its bytes.
        what: How an error calls the model.
        metadata: Names the image input, and how a picture is preprocessed.
        feeds: The inputs; None makes random ones.
        compiled: Use the compiled kernels.

    Returns:
        The outputs and the inputs, by name.

    Raises:
        GraftError: It does not run.
    """
    options = ort.SessionOptions()
    options.log_severity_level = 4  # failures are raised, and reported below
    if compiled:
        native.register(options)
    else:
        # All fusions, but not the blocked memory layout, which would store every weight twice.
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    source: Any = str(model) if isinstance(model, Path) else model
    try:
        session = ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])
        if feeds is None:
            feeds = _random_feeds(session.get_inputs(), metadata)
        if any(value.name == CLASS_INPUT for value in session.get_inputs()):  # required
            feeds = {**feeds, CLASS_INPUT: np.full(len(feeds[metadata.image.name]), ARGMAX, np.int64)}
        names = [output.name for output in session.get_outputs()]
        return dict(zip(names, session.run(names, feeds), strict=True)), feeds
    except Exception as error:  # onnxruntime's errors have no public base class
        raise GraftError(f"{what} does not run in onnxruntime: {first_line(error)}") from error


def _random_feeds(inputs: Sequence[Any], metadata: Metadata) -> Arrays:
    random = np.random.default_rng(0)
    image = metadata.image
    declared = next((info.shape for info in inputs if info.name == image.name), ())
    batch = declared[0] if declared and isinstance(declared[0], int) and declared[0] > 0 else 1
    plane = (image.height, image.width)
    tail = (image.channels, *plane) if image.layout == "NCHW" else (*plane, image.channels)

    def fill(shape: Sequence[int], dtype: np.dtype[Any]) -> np.ndarray:
        if dtype.kind == "f":
            return random.standard_normal(shape).astype(dtype)
        return random.integers(0, 255 if dtype == np.uint8 else 2, shape).astype(dtype)

    feeds = make_feeds(inputs, image.name, (batch, *tail), fill)
    # A network may accept only the range that its preprocessing gives, such as 0…1.
    preprocess = Preprocessor(image, metadata.preprocess, dtype=feeds[image.name].dtype)
    pictures = random.integers(0, 256, (batch, *plane, 3), np.uint8)
    feeds[image.name] = np.concatenate([preprocess(picture)[0] for picture in pictures])
    return feeds


def compare(name: str, expected: Any, after: Arrays, cause: str) -> None:
    """Refuse an output that is missing from `after`, or differs from `expected` by more than `TOLERANCE`.

    Raises:
        GraftError: Names the output and `cause`.
    """
    if name not in after:
        raise GraftError(f"{cause} lost the output '{name}'")
    if not isinstance(expected, np.ndarray):
        return
    # numpy tests only numbers for NaN, and an output may hold strings.
    if np.array_equal(expected, after[name], equal_nan=expected.dtype.kind == "f"):
        return
    if expected.dtype.kind == "f" and expected.shape == after[name].shape:
        difference = np.max(np.abs(expected.astype(np.float64) - after[name]))
        relative = difference / max(float(np.max(np.abs(expected))), np.finfo(np.float32).tiny)
        if relative <= TOLERANCE:
            return
        raise GraftError(f"{cause} changed the output '{name}' by {relative:.1e} of its range")
    raise GraftError(f"{cause} changed the output '{name}'")


def _check_map(name: str, values: np.ndarray) -> None:
    if not np.all(np.isfinite(values)):
        raise GraftError(f"the output '{name}' is not finite on a random picture")
    low, high = float(values.min()), float(values.max())
    if low < -TOLERANCE or high > 1 + TOLERANCE:
        raise GraftError(f"the output '{name}' leaves 0…1 on a random picture: {low:.3g}…{high:.3g}")
