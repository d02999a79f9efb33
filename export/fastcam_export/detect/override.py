"""Apply the user's description of a detector's head to what was recognised."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from fastcam_runtime.detect.head import Grid, Head, as_tuples
from fastcam_runtime.errors import FastcamError

from .recognise import NoHeadError


def override(asked: str | Mapping[str, Any] | None, recognised: Callable[[], Head]) -> Head:
    """The recognised head with the user's fields.

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
        fields = {key: as_tuples(value) for key, value in asked.items()}
        head = recognised()
        if "grids" in asked:
            fields["grids"] = tuple(Grid(**grid) for grid in asked["grids"])
        return replace(head, **fields)
    except NoHeadError:
        raise
    except (FastcamError, TypeError) as error:
        raise NoHeadError(str(error)) from error
