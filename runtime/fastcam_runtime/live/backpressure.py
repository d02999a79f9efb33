"""Back-pressure between the threads of the loop: a bounded queue, and when to read the next live frame."""

from __future__ import annotations

import threading
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")

_RECENT = 5
"""How many results the delay is computed from."""
_SHARE = 0.8
"""Safety margin: use this share of the idle time, so that a slower inference does not delay the sinks."""
_NOTHING = 0.001
"""Seconds that a thread may take to wake up; shorter waits count as none."""


class HandoffQueue(Generic[T]):
    """A bounded queue between two threads. It is short, so that frames do not pile up."""

    def __init__(self, size: int = 1) -> None:
        self._size = size
        self._items: deque[T] = deque()
        self._changed = threading.Condition()
        self._ended = False

    def put(self, item: T) -> bool:
        """Append an item; wait while the queue is full. Once it has ended, drop the item and return False."""
        with self._changed:
            if self.wait_free():
                self._items.append(item)
                self._changed.notify_all()
            return not self._ended

    def wait_free(self) -> bool:
        """Wait until the queue is not full: a single producer can then `put` at once. False once ended."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or len(self._items) < self._size)
            return not self._ended

    def get(self, timeout: float | None = None) -> T | None:
        """The oldest item; None after `timeout` seconds, or if the queue has ended and is empty."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or self._items, timeout)
            item = self._items.popleft() if self._items else None
            self._changed.notify_all()
            return item

    def end(self) -> None:
        """Accept no more items. Queued items can still be taken."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def drop(self) -> None:
        """End, and discard the queued items."""
        with self._changed:
            self._items.clear()
            self.end()

    @property
    def over(self) -> bool:
        """Whether the queue has ended and is empty."""
        with self._changed:
            return self._ended and not self._items


class ReadDelay:
    """How long to wait before the next live frame is read, so that its result is ready when the sinks are.

    A result that waits for slow sinks comes from a frame that was read too early, by the time it waited. A
    result that the sinks waited for allows no delay. The minimum of the last results counts, because a sink
    may be slow just once.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._left: deque[float] = deque(maxlen=_RECENT)

    def learn(self, waited: float) -> None:
        """Update `seconds`, given how long the last result had to wait for the sinks."""
        self._left.append(self.seconds + waited if waited >= _NOTHING else 0.0)
        self.seconds = _SHARE * min(self._left)
