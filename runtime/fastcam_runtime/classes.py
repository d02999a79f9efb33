"""Which class is meant: by its index, its label, or a part of its label that no other has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .errors import FastcamError, closest

_SHOWN = 8


class ClassError(FastcamError):
    """No such class, or more than one."""


def find_class(choice: int | str, labels: Sequence[str], count: int | None) -> int:
    """The index of a class.

    A text is taken as a label, then as an index, then as a part of one label, upper and lower case alike.

    Args:
        choice: Index or text.
        labels: The labels, in the order of the scores; may be empty. What is beyond `count` names no class.
        count: How many classes there are; None if the file does not say.

    Raises:
        ClassError: There is no such class, or several fit; the message lists candidates.
    """
    if not isinstance(choice, int | str | np.integer):
        raise ClassError(f"a class is an index or a label, not {choice!r}")
    labels = labels[:count]
    if isinstance(choice, str):
        text = choice.strip()
        if list(labels).count(text) == 1:
            return list(labels).index(text)
        try:
            choice = int(text)
        except ValueError:
            return _by_part(text, labels)
    if choice < 0 or (count is not None and choice >= count):
        known = "" if count is None else "; the file has " + ("0" if count == 1 else f"0…{count - 1}")
        raise ClassError(f"no class {choice}{known}")
    return int(choice)


def _by_part(text: str, labels: Sequence[str]) -> int:
    if not labels:
        raise ClassError(f"no class {text!r}: the file has no labels, give an index")
    folded = text.casefold()
    same = [i for i, label in enumerate(labels) if label.casefold() == folded]
    found = same or [i for i, label in enumerate(labels) if folded in label.casefold()]
    if not folded or not found:
        raise ClassError(f"no class {text!r}{closest(text, labels)}")
    if len(found) > 1:
        shown = ", ".join(f"{labels[i]} ({i})" for i in found[:_SHOWN])
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise ClassError(f"class {text!r} could be {shown}{more}")
    return found[0]
