"""Back-pressure between the threads of the loop: a bounded queue, and when to read the next live frame."""

from __future__ import annotations

import threading
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")

_RECENT = 5
"""Results that the rest is learned from."""
_SHARE = 0.8
"""Of the time that was left, so that the sinks do not wait for a network that takes a little longer."""
_NOTHING = 0.001
"""Seconds that a thread may need to wake up."""


class HandoffQueue(Generic[T]):
    """A queue between two threads, of a few places so that nothing lags behind.

    Args:
        size: Places; a giver waits while all are taken.
    """

    def __init__(self, size: int = 1) -> None:
        self._size = size
        self._items: deque[T] = deque()
        self._changed = threading.Condition()
        self._ended = False

    def put(self, item: T) -> bool:
        """Wait for a place and take it. False once the queue has ended: the item is not wanted any more."""
        with self._changed:
            if self.wait_free():
                self._items.append(item)
                self._changed.notify_all()
            return not self._ended

    def wait_free(self) -> bool:
        """Wait until there is a place; for a single giver it stays free. False once the queue has ended."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or len(self._items) < self._size)
            return not self._ended

    def get(self, timeout: float | None = None) -> T | None:
        """The oldest item; None after `timeout` seconds, or when the queue has ended and is empty."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or self._items, timeout)
            item = self._items.popleft() if self._items else None
            self._changed.notify_all()
            return item

    def end(self) -> None:
        """Nothing more will be put; what is there can still be taken."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def drop(self) -> None:
        """End, and forget what is there."""
        with self._changed:
            self._items.clear()
            self.end()

    @property
    def over(self) -> bool:
        """Whether it has ended and everything was taken."""
        with self._changed:
            return self._ended and not self._items


class ReadDelay:
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
