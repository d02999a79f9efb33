"""Valid values for each key of a grafted file's metadata: one row per key, as in docs/metadata.schema.json.

The runtime has no JSON Schema validator, and a file may come from anybody: every value is checked here, by
type and range, before it is used. A key without a row is checked by the code that reads it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .errors import ModelError
from .limits import MAX_DIMENSION, MAX_LABEL, MAX_LABELS, MAX_NAME, MAX_RANK, MAX_SIDE, MAX_TAPS
from .text import shown

_HALF = re.compile("[\ud800-\udfff]")
"""Half a character, which JSON can hold but no file of text."""

FieldRule = Callable[[Any], "str | None"]
"""Returns a description of the valid values, or None if the value is valid."""


def text(longest: int, shortest: int = 0, pattern: str = "") -> FieldRule:
    """A text of so many characters that matches `pattern`."""
    return lambda value: (
        None
        if isinstance(value, str)
        and shortest <= len(value) <= longest
        and (not pattern or re.fullmatch(pattern, value, re.ASCII))
        and not _HALF.search(value)
        else f"a text of {shortest} to {longest} characters{f' like {pattern}' if pattern else ''}"
    )


def one_of(*words: Any) -> FieldRule:
    """One of these values, of the same type."""
    return lambda value: (
        None
        if any(type(value) is type(word) and value == word for word in words)
        else f"one of {', '.join('null' if word is None else str(word) for word in words)}"
    )


def whole(least: int, most: int) -> FieldRule:
    """A whole number in this range."""
    return lambda value: (
        None if type(value) is int and least <= value <= most else f"a whole number of {least} to {most}"
    )


def number(least: float = -math.inf, most: float = math.inf, above: float = -math.inf) -> FieldRule:
    """A finite number in this range, and greater than `above`."""

    def check(value: Any) -> str | None:
        fits = type(value) in (int, float) and least <= value <= most and value > above
        if fits and abs(value) <= _LARGEST:
            return None
        low = f"above {above:g}" if above > least else f"from {least:g}"
        return "a finite number" if math.isinf(max(least, above)) else f"a number {low} to {most:g}"

    return check


_LARGEST = 1.7976931348623157e308
"""The largest float: infinity is above it, and so is a whole number that no float can hold."""


def some(least: int, most: int) -> FieldRule:
    """A list of so many items; the row with `[]` says what they are."""
    return lambda value: (
        None if isinstance(value, list) and least <= len(value) <= most else f"a list of {least} to {most}"
    )


def different(least: int, most: int) -> FieldRule:
    """A list like `some`, of items that are all different."""
    listed = some(least, most)
    return lambda value: (
        listed(value) or (None if len(set(map(repr, value))) == len(value) else "a list without repeats")
    )


def fields(value: Any) -> str | None:
    """An object; the rows with its name and a dot say what is in it."""
    return None if isinstance(value, dict) else "an object"


def or_null(rule: FieldRule) -> FieldRule:
    """A value that `rule` accepts, or null."""
    return lambda value: None if value is None else rule(value)


_WORD = text(40, 1, "[a-z][a-z0-9_+-]*")
_LIST = some(0, MAX_TAPS)

RULES: Mapping[str, FieldRule] = {
    "version": whole(1, MAX_DIMENSION),
    "image": fields,
    "image.name": text(MAX_NAME, 1),
    "image.layout": one_of("NCHW", "NHWC"),
    "image.channels": one_of(1, 2, 3, 4),
    "image.height": whole(1, MAX_SIDE),
    "image.width": whole(1, MAX_SIDE),
    "preprocess": fields,
    "preprocess.order": one_of("RGB", "BGR", "GRAY", "RGBA", "BGRA", "AS_IS"),
    "preprocess.mean": some(1, 4),
    "preprocess.mean[]": number(),
    "preprocess.std": some(1, 4),
    "preprocess.std[]": number(),
    "preprocess.pad": or_null(whole(0, 255)),
    "preprocess.placement": one_of("centre", "corner"),
    "resize": one_of("stretch", "crop", "letterbox"),
    "scores": text(MAX_NAME, 1),
    "scores_are": one_of("logits", "probabilities"),
    "scores_shape": or_null(some(0, MAX_RANK)),
    "scores_shape[]": or_null(whole(1, MAX_DIMENSION)),
    "labels": some(0, MAX_LABELS),
    "labels[]": text(MAX_LABEL),
    "outputs": different(1, MAX_TAPS),
    "outputs[]": text(MAX_NAME, 1, "saliency_(map|lovi|cam|fastcam|nonclass|scale_[1-9][0-9]*)"),
    "taps": some(1, MAX_TAPS),
    "taps[]": fields,
    "taps[].name": text(MAX_NAME, 1),
    "taps[].shape": some(4, 4),
    "taps[].shape[]": or_null(whole(1, MAX_DIMENSION)),
    "taps[].weight": number(0),
    "statistic": _WORD,
    "epsilon": number(0, 1, above=0),
    "normalize": _WORD,
    "cam": or_null(_WORD),
    "source_sha256": text(64, 0, "([0-9a-f]{64})?"),
    "approximation": text(MAX_NAME),
    "prepared": text(MAX_NAME),
    "frame": or_null(fields),
    "frame.name": text(MAX_NAME, 1),
    "frame.height": whole(1, MAX_SIDE),
    "frame.width": whole(1, MAX_SIDE),
    "frame.channels": one_of(3, 4),
    "provenance": fields,
    **{f"provenance.{key}": text(MAX_NAME) for key in ("preprocess", "resize", "labels")},
    "detector": or_null(fields),
    "detector.layout": _WORD,
    "detector.classes": whole(1, MAX_LABELS),
    **{
        row: rule
        for key in ("boxes", "scores", "objectness", "indices")
        for row, rule in {f"detector.{key}": _LIST, f"detector.{key}[]": text(MAX_NAME)}.items()
    },
    "detector.grids": _LIST,
    "detector.grids[]": fields,
    "detector.grids[].height": whole(1, MAX_SIDE),
    "detector.grids[].width": whole(1, MAX_SIDE),
    "detector.grids[].stride": number(0, MAX_SIDE, above=0),
    "detector.grids[].per_cell": whole(1, MAX_TAPS),
    **{
        f"detector.{key}": whole(0, MAX_DIMENSION)
        for key in ("box_at", "score_at", "objectness_at", "index_at")
    },
    **{
        f"detector.{key}": _WORD for key in ("decode", "unit", "order", "activation", "objectness_activation")
    },
    "detector.bins": whole(0, MAX_TAPS),
    "detector.centre": number(-1, 1),
    "detector.powers": some(2, 2),
    "detector.powers[]": number(-100, 100),
    "detector.anchors": _LIST,
    "detector.anchors[]": _LIST,
    "detector.anchors[][]": number(),
    "detector.variances": some(2, 2),
    "detector.variances[]": number(),
    "detector.family": text(MAX_LABEL),
    "detector.why": text(MAX_NAME),
}

REQUIRED = {
    "": ("version", "image", "scores", "scores_are", "taps", "outputs", "preprocess"),
    "image": ("name", "layout", "channels", "height", "width"),
    "preprocess": ("order", "mean", "std"),
    "taps[]": ("name", "shape", "weight"),
    "frame": ("name", "height", "width", "channels"),
    "detector": ("layout", "classes", "boxes", "scores"),
    "detector.grids[]": ("height", "width", "stride"),
}
"""The keys that an object has to have; the others have defaults."""


def check_metadata(document: Any) -> None:
    """Refuse metadata with a value of the wrong type or out of range.

    Raises:
        ModelError: Names the key, what it holds and what it may hold.
    """
    if not isinstance(document, dict):
        raise ModelError(f"it is {shown(document)}, not an object")
    for row, place, value in _walk("", "", document):
        wanted = RULES[row](value) if row else None
        if wanted:
            raise ModelError(f"'{place}' is {_describe(value)}, not {wanted}")
        for key in REQUIRED.get(row, ()) if value is not None else ():
            if key not in value:
                raise ModelError(f"it lacks '{f'{place}.{key}' if place else key}'")


def _walk(row: str, place: str, value: Any) -> Iterator[tuple[str, str, Any]]:
    """The values that have a rule: the row, the place in this document, the value; outer ones first."""
    yield row, place, value
    if isinstance(value, dict):
        for key, part in value.items():
            inner = f"{row}.{key}" if row else key
            if inner in RULES:
                yield from _walk(inner, f"{place}.{key}" if place else key, part)
    elif isinstance(value, list) and f"{row}[]" in RULES:
        for index, part in enumerate(value):
            yield from _walk(f"{row}[]", f"{place}[{index}]", part)


def _describe(value: Any) -> str:
    """A value in a message: the size of a list or a long text, else the value."""
    if isinstance(value, str) and len(value) > MAX_LABEL:
        return f"a text of {len(value)} characters"
    return f"a list of {len(value)}" if isinstance(value, list) else shown(value)
