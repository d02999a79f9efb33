"""The preprocessing of frames: from the user, or from the model file."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from fastcam_runtime.contract import PREPROCESS, Preprocess
from fastcam_runtime.errors import FastcamError, closest

from ..errors import GraftError

PREPROCESS_KEY = "preprocess"
"""Metadata key under which a model file may describe its preprocessing."""
_EXAMPLE = '{"order": "RGB", "mean": [127, 127, 127], "std": [128, 128, 128]}'
_KEYS = tuple(field.name for field in dataclasses.fields(Preprocess))


def resolve_preprocess(
    asked: str | Preprocess | Mapping[str, Any] | None,
    metadata: Mapping[str, str],
    channels: int,
    is_uint8: bool,
    of_family: Preprocess | None = None,
) -> Preprocess:
    """What the user asked for, else what the file's metadata says, else what a detector's family needs, else
    ImageNet's (raw bytes for uint8).

    Raises:
        GraftError: An unknown name, or a description that is incomplete or does not fit the channels.
    """
    if isinstance(asked, Preprocess):
        preprocess = asked
    elif asked is not None:
        fields = _fields(asked)
        for key in fields:
            if key not in _KEYS:
                raise GraftError(
                    f"preprocess has no key '{key}'{closest(str(key), _KEYS)}; there are {', '.join(_KEYS)}"
                )
        preprocess = _build(fields)
    elif of_family is not None and PREPROCESS_KEY not in metadata and not is_uint8:
        preprocess = of_family
    else:
        # Ignore further keys in the file: they are not the user's mistake.
        preprocess = _build(_fields(metadata.get(PREPROCESS_KEY) or ("raw255" if is_uint8 else "imagenet")))
    if channels == 1 and preprocess.order != "GRAY":
        # The presets are for colour. A gray network gets the average of their channels.
        mean, std = (sum(values) / len(values) for values in (preprocess.mean, preprocess.std))
        return Preprocess("GRAY", (mean,), (std,))
    if channels not in (1, 3):
        raise GraftError(f"the image input has {channels} channels; frames are gray (1) or colour (3)")
    if len(preprocess.mean) != channels:
        raise GraftError(f"preprocess {preprocess.order} does not fit an input of {channels} channels")
    return preprocess


def _fields(asked: str | Mapping[str, Any]) -> Mapping[str, Any]:
    """The keys and values of a preset, of a JSON text or of a mapping."""
    if isinstance(asked, str) and asked in PREPROCESS:
        return dataclasses.asdict(PREPROCESS[asked])
    fields: Any = asked
    if isinstance(asked, str):
        try:
            fields = json.loads(asked)
        except (ValueError, RecursionError):
            raise GraftError(
                f"preprocess {asked!r} is neither one of {', '.join(PREPROCESS)} nor JSON such as {_EXAMPLE}"
            ) from None
    if not isinstance(fields, Mapping):
        raise GraftError(f"preprocess {asked!r} has no keys and values such as {_EXAMPLE}")
    return fields


def _build(fields: Mapping[str, Any]) -> Preprocess:
    try:
        bars = {key: fields[key] for key in ("pad", "placement") if key in fields}
        return Preprocess(
            str(fields.get("order", "RGB")), _numbers(fields, "mean"), _numbers(fields, "std"), **bars
        )
    except FastcamError as error:
        raise GraftError(str(error)) from error


def _numbers(fields: Mapping[str, Any], key: str) -> tuple[float, ...]:
    if key not in fields:
        raise GraftError(f"preprocess lacks {key}; it looks like {_EXAMPLE}")
    values = fields[key]
    try:
        if isinstance(values, str):
            raise TypeError
        return tuple(float(value) for value in values)
    except (TypeError, ValueError, OverflowError):
        raise GraftError(
            f"preprocess: {key} is {json.dumps(values, default=str)}, not a list of numbers as in {_EXAMPLE}"
        ) from None
