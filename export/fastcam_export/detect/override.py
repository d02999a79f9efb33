"""The option `head`: what a user says of a detector's head, over what was recognised."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from fastcam_runtime.detect.head import Grid, Head
from fastcam_runtime.errors import FastcamError, closest

from ..errors import GraftError
from .families import FAMILIES
from .recognise import NoHeadError

WORDS = ("auto", "none")
_FIELDS = tuple(field.name for field in dataclasses.fields(Head))


def read_head(given: Any) -> str | dict[str, Any] | None:
    """The option as `auto`, `none`, the name of a family, or fields of `Head`.

    Raises:
        GraftError: It is none of these.
    """
    if given is None or (isinstance(given, str) and given in (*WORDS, *FAMILIES)):
        return given
    fields: Any = given
    if isinstance(given, str):
        try:
            fields = json.loads(given)
        except (ValueError, RecursionError):
            known = (*WORDS, *FAMILIES)
            raise GraftError(
                f"no head named '{given}'{closest(given, known)}; there are {', '.join(known)}, or JSON such "
                'as {"decode": "distances", "centre": 0.5}'
            ) from None
    if not isinstance(fields, Mapping):
        raise GraftError(f"head {given!r} has no keys and values such as {{'decode': 'xyxy'}}")
    for key in fields:
        if key not in _FIELDS:
            raise GraftError(
                f"head has no key '{key}'{closest(str(key), _FIELDS)}; there are {', '.join(_FIELDS)}"
            )
    return dict(fields)


def override(asked: str | Mapping[str, Any] | None, recognised: Callable[[], Head]) -> Head:
    """The recognised head with what the user says instead.

    A complete description, with layout, classes, boxes and scores, is taken without recognition.

    Raises:
        NoHeadError: Nothing was recognised that the fields could complete, or they do not fit together.
    """
    if asked is None:
        return recognised()
    if isinstance(asked, str):
        return replace(recognised(), family=asked)
    try:
        if {"layout", "classes", "boxes", "scores"} <= set(asked):
            return Head.from_fields(asked)
        fields = {key: _value(value) for key, value in asked.items()}
        head = recognised()
        if "grids" in asked:
            fields["grids"] = tuple(Grid(**grid) for grid in asked["grids"])
        return replace(head, **fields)
    except NoHeadError:
        raise
    except (FastcamError, TypeError) as error:
        raise NoHeadError(str(error)) from error


def _value(value: Any) -> Any:
    return tuple(map(_value, value)) if isinstance(value, list | tuple) else value
