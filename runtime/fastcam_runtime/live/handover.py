"""From one thread to the next: a short queue that either side can end."""

from __future__ import annotations

import threading
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Handover(Generic[T]):
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
