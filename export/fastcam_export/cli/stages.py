"""The progress of an evaluation: the remaining time of all its stages."""

from __future__ import annotations

import time

from fastcam_runtime.text import count

from ..evaluate.evaluation import SANITY_PICTURES, EvaluationRequest
from ..evaluate.measures.flicker import MOST_FRAMES
from ..evaluate.measures.shuffling import STEPS
from .progress import Progress

_SHARES = {"pictures": 1.0, "shuffled weights": 1 / 15, "video": 1 / 200}
"""The time of one item, in pictures: measured on EfficientNet-Lite0, a guess for others."""


class Stages:
    """Call it with a stage, the number of items done, and their total."""

    def __init__(self, progress: Progress, request: EvaluationRequest) -> None:
        pictures = len(request.pictures)
        self._progress = progress
        self._totals = {
            "pictures": pictures,
            "shuffled weights": len(STEPS) * min(pictures, SANITY_PICTURES) if request.sanity else 0,
            "video": MOST_FRAMES if request.video is not None else 0,
        }
        self._stage = ""
        self._started = 0.0
        self._of_picture = 0.0
        """Seconds."""
        progress.say(f"evaluating {count(pictures, 'picture')}")

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage != self._stage:
            self._stage, self._started = stage, time.monotonic()
            self._progress.begin(stage)
        self._totals[stage] = total
        self._progress.update(done, total, self._left(done))

    def _left(self, done: int) -> float | None:
        """Seconds; None before the first item of the first stage is done."""
        elapsed = time.monotonic() - self._started
        names = list(_SHARES)
        following = names[names.index(self._stage) + 1 :]
        if done and self._stage == names[0]:
            self._of_picture = elapsed / done
        if not self._of_picture:
            return None
        each = elapsed / done if done else self._of_picture * _SHARES[self._stage]
        later = sum(self._totals[name] * _SHARES[name] for name in following)
        return each * (self._totals[self._stage] - done) + self._of_picture * later
