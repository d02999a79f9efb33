"""When a frame is kept as evidence: rules such as `score<0.5`, `label-changed` and `every 10s`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Protocol

from ..errors import FastcamError
from ..sinks import Status

EXAMPLES = ("score<0.5", "label-changed", "every 10s")
GAP_SECONDS = 1.0
"""Seconds between kept frames while a condition continues to hold."""

_SCORE = re.compile(r"score\s*(<=|>=|<|>)\s*(\d+(?:\.\d*)?|\.\d+)\s*(%?)")
_EVERY = re.compile(r"every\s+(\d+(?:\.\d*)?|\.\d+)\s*(s|min|h)")
_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Rule(Protocol):
    """A condition on frames, evaluated for every frame in order."""

    text: str
    """The rule as it was written."""
    gap: float
    """Minimum seconds between two frames that it keeps."""

    def holds(self, status: Status) -> bool:
        """Whether to keep the frame."""


class ScoreRule:
    """Holds if the score of the most likely class is on one side of a limit; never without class scores."""

    gap = GAP_SECONDS

    def __init__(self, text: str, sign: str, limit: float) -> None:
        self.text = text
        self._compare = _COMPARE[sign]
        self._limit = limit

    def holds(self, status: Status) -> bool:
        return status.prediction is not None and self._compare(status.prediction.score, self._limit)


class LabelRule:
    """Holds if the most likely class differs from that of the previous frame."""

    text = "label-changed"
    gap = GAP_SECONDS

    def __init__(self) -> None:
        self._before: str | None = None

    def holds(self, status: Status) -> bool:
        label = status.prediction.label if status.prediction else None
        before, self._before = self._before, label
        return None not in (before, label) and before != label


class EveryRule:
    """Always holds; its `gap` sets the interval."""

    def __init__(self, text: str, seconds: float) -> None:
        self.text = text
        self.gap = seconds

    def holds(self, status: Status) -> bool:
        return True


def parse_rule(text: str) -> Rule:
    """The rule that a user wrote.

    Raises:
        FastcamError: The text is not a rule; the message shows examples.
    """
    plain = text.strip().lower()
    score = _SCORE.fullmatch(plain)
    if score:
        limit = float(score[2]) / (100 if score[3] else 1)
        if limit > 1:
            raise FastcamError(f"keep-when {text!r}: a score is between 0 and 1, or 0 % and 100 %")
        return ScoreRule(plain, score[1], limit)
    every = _EVERY.fullmatch(plain)
    if every and float(every[1]) > 0:
        return EveryRule(plain, float(every[1]) * _UNITS[every[2]])
    if plain == LabelRule.text:
        return LabelRule()
    raise FastcamError(f"keep-when {text!r}: no such rule; rules are {', '.join(EXAMPLES)}")
