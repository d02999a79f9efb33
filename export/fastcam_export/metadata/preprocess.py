"""The preprocessing of frames: from the user, or from the model file."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from fastcam_runtime.contract import AS_IS, MOST_CHANNELS, PREPROCESS, Preprocess
from fastcam_runtime.errors import FastcamError, closest

from ..errors import GraftError

PREPROCESS_KEY = "preprocess"
"""Metadata key under which a model file may describe its preprocessing."""
_EXAMPLE = '{"order": "RGB", "mean": [127, 127, 127], "std": [128, 128, 128]}'
_KEYS = tuple(field.name for field in dataclasses.fields(Preprocess))


def asked_preprocess(asked: str | Preprocess | Mapping[str, Any]) -> Preprocess:
    """The user's preprocessing: a preset, a JSON text, or its keys and values.

    Raises:
        GraftError: An unknown name or key, or a description that is incomplete.
    """
    if isinstance(asked, Preprocess):
        return asked
    fields = _fields(asked)
    for key in fields:
        if key not in _KEYS:
            hint = closest(str(key), _KEYS, most=1)
            raise GraftError(f"preprocess has no key '{key}'{hint}; there are {', '.join(_KEYS)}")
    return _build(fields)


def stated_preprocess(text: str) -> Preprocess:
    """The file's key `preprocess`. Unknown keys are ignored, because the user did not write them.

    Raises:
        GraftError: The description is incomplete.
    """
    return _build(_fields(text))


def fit_channels(preprocess: Preprocess, channels: int) -> Preprocess:
    """The same for an input of so many channels.

    Raises:
        GraftError: It does not fit.
    """
    if channels == 1 and preprocess.order in ("RGB", "BGR"):
        # The presets are for colour. A gray network gets the average of their channels.
        mean, std = (sum(values) / len(values) for values in (preprocess.mean, preprocess.std))
        return dataclasses.replace(preprocess, order="GRAY", mean=(mean,), std=(std,))
    if len(preprocess.mean) != channels:
        raise GraftError(
            f"preprocess {preprocess.order} does not fit an input of {channels} channels{_stating(channels)}"
        )
    return preprocess


def unstated(channels: int) -> GraftError:
    """The error for an input of 2 or 4 channels without a stated preprocessing: there is no default."""
    return GraftError(f"nothing says what the {channels} channels of the image input are{_stating(channels)}")


def _stating(channels: int) -> str:
    """How to state the preprocessing of an input that is neither grey nor colour."""
    if channels in (1, 3):
        return ""
    if channels > MOST_CHANNELS:
        return f"; pictures have {MOST_CHANNELS} at most"
    order = "RGBA" if channels == 4 else AS_IS
    said = {"order": order, "mean": [0] * channels, "std": [255] * channels}
    return f"; state it, e.g. --preprocess '{json.dumps(said)}'"


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
