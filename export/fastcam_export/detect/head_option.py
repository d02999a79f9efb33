"""The option `head`, as the user writes it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from fastcam_runtime.detect.head import Head
from fastcam_runtime.errors import closest

from ..errors import GraftError
from .families import FAMILIES

WORDS = ("auto", "none")
_FIELDS = tuple(field.name for field in dataclasses.fields(Head))


def read_head(given: Any) -> str | dict[str, Any] | None:
    """The option as `auto`, `none`, the name of a family, or fields of `Head`.

    Raises:
        GraftError: The option is none of these.
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
