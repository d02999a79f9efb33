"""The predicted class of each picture, for the report of a run."""

from __future__ import annotations

from collections import deque
from typing import Any

from ..classes import Prediction
from ..image import Image
from .base import Sink, Status, finite

LIMIT = 100_000
"""How many predictions are kept, the latest ones: memory stays bounded on an endless stream."""


class Predictions(Sink):
    """Keeps the class with the highest score of each picture, whichever class is explained.

    Stays empty if the network has no class scores.
    """

    def __init__(self) -> None:
        self._told: deque[tuple[int, str, Prediction]] = deque(maxlen=LIMIT)

    def write(self, picture: Image, status: Status) -> None:
        if status.prediction is not None:
            self._told.append((status.frame, status.name, status.prediction))

    def as_list(self) -> list[dict[str, Any]]:
        """The predictions in order, in types that JSON has; `file` only if each picture is a file."""
        return [
            {
                "frame": frame,
                **({"file": file} if file else {}),
                "class": told.index,
                "label": told.label,
                "score": finite(told.score),
            }
            for frame, file, told in self._told
        ]
