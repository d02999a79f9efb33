"""When to read the next live frame, so that it is explained just as the sinks are ready for it."""

from __future__ import annotations

from collections import deque

_RECENT = 5
"""Results that the rest is learned from."""
_SHARE = 0.8
"""Of the time that was left, so that the sinks do not wait for a network that takes a little longer."""
_NOTHING = 0.001
"""Seconds that a thread may need to wake up."""


class Rest:
    """How long the network can rest before it reads the next live frame.

    A result that waited for slow sinks was read too early, by so much; one that the sinks waited for left no
    time to rest. The least of the last few counts: a sink may be slow once.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._left: deque[float] = deque(maxlen=_RECENT)

    def learn(self, waited: float) -> None:
        """Take in how many seconds a result waited that was begun after a rest of `seconds`."""
        self._left.append(self.seconds + waited if waited >= _NOTHING else 0.0)
        self.seconds = _SHARE * min(self._left)
