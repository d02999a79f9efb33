"""How long to wait before a lost camera is tried again."""

from __future__ import annotations

import random
from collections.abc import Sequence

STEPS = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
"""Seconds before the first retry, the second, and so on; the last one is repeated."""
JITTER = 0.2
"""Random jitter of a wait, as a share: devices that lost a server at the same moment must not
reconnect at the same moment."""


class BackOff:
    """Waits that grow with every failure, in seconds."""

    def __init__(self, steps: Sequence[float] = STEPS) -> None:
        self._steps = steps
        self._failures = 0

    def next_wait(self) -> float:
        """Seconds to wait before the next try."""
        step = self._steps[min(self._failures, len(self._steps) - 1)]
        self._failures += 1
        return step * random.uniform(1 - JITTER, 1 + JITTER)

    def reset(self) -> None:
        """Start again with the first step, after a good frame."""
        self._failures = 0
