"""What the network said about each picture, for the report of a run."""

from __future__ import annotations

from collections import deque
from typing import Any

from ..classes import Prediction
from ..image import Image
from .base import Sink, Status, finite

LIMIT = 100_000
"""Pictures that are remembered: the last ones, so that an endless stream does not take ever more memory."""


class Predictions(Sink):
    """Shows no picture; remembers the best class of each, whichever one is explained.

    A network that tells no class leaves it empty.
    """

    def __init__(self) -> None:
        self._told: deque[tuple[int, str, Prediction]] = deque(maxlen=LIMIT)

    def write(self, picture: Image, status: Status) -> None:
        if status.prediction is not None:
            self._told.append((status.frame, status.name, status.prediction))

    def as_list(self) -> list[dict[str, Any]]:
        """In plain types, in the order of the pictures; `file` only where each is a file of its own."""
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
