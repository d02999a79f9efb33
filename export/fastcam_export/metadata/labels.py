"""Class names from a model file or from the user."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from fastcam_runtime.limits import MAX_LABEL, MAX_LABELS, MAX_LITERAL, MAX_METADATA, read_whole

from ..errors import GraftError

NAMES_KEY = "names"
"""Metadata key under which many exporters store the class names."""


def read_labels(path: Path) -> tuple[str, ...]:
    """Class names from a text file, one per line in the order of the classes, or from a JSON list or object.

    Raises:
        GraftError: The file cannot be read or is empty.
    """
    try:
        # With or without a byte order mark.
        text = read_whole(path).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise GraftError(f"cannot read the labels {path}: {reason}") from error
    # Ignore blank lines at the end.
    labels = parse_names(text) if text.lstrip()[:1] in ("[", "{") else tuple(text.rstrip().splitlines())
    if not labels:
        raise GraftError(f"no labels in {path}")
    return labels


def parse_names(text: str) -> tuple[str, ...]:
    """Class names from a `names` entry: a JSON or Python list, or a mapping from index to name.

    Empty for any other text: the entry is not the user's, so it is not an error.
    """
    try:
        return class_names(literal(text)) or ()
    except Exception:  # any content is possible: too deep, no index, not hashable
        return ()


def literal(text: str) -> Any:
    """The value of a JSON or Python literal; None for any other text."""
    for read, most in ((json.loads, MAX_METADATA), (ast.literal_eval, MAX_LITERAL)):
        try:
            if len(text) <= most:
                return read(text)
        except Exception:  # any text is possible: too deep, too large, no literal
            continue
    return None


def excess(labels: Sequence[str]) -> str:
    """What is too large about labels, for a message; empty if nothing is."""
    if len(labels) > MAX_LABELS:
        return f"there are {len(labels)}, {MAX_LABELS} are the limit"
    longest = max(map(len, labels), default=0)
    return f"one has {longest} characters, {MAX_LABEL} are the limit" if longest > MAX_LABEL else ""


def class_names(given: Any) -> tuple[str, ...] | None:
    """Class names from a list of them, or a mapping from index to name; None from anything else.

    Raises:
        TypeError, ValueError, OverflowError: The mapping's keys are not all class indices from 0 on.
    """
    if isinstance(given, Mapping):
        by_index = {int(key): _text(name) for key, name in given.items()}
        if sorted(by_index) != list(range(len(given))):
            raise ValueError("the indices are not 0, 1, 2…")
        return tuple(by_index[index] for index in range(len(given)))
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if isinstance(given, Sequence) and not isinstance(given, str | bytes):
        return tuple(map(_text, given))
    return None


def _text(name: Any) -> str:
    """A name as text that can be written as UTF-8: JSON can hold half a character."""
    return str(name).encode(errors="replace").decode()
