"""From one thread to the next: a short queue that either side can end."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Handover(Generic[T]):
    """A queue between two threads, of a few places so that nothing lags behind.

    Args:
        size: Places; a giver waits while all are taken.
        passing: Tells which items are of worth only until there is a newer one: such an item does not wait,
            but takes the place of the last such one. By default none is.
    """

    def __init__(self, size: int = 1, passing: Callable[[T], bool] = lambda _: False) -> None:
        self._size = size
        self._passing = passing
        self._items: deque[T] = deque()
        self._changed = threading.Condition()
        self._ended = False
        self.replaced = 0
        """How many items a newer one took the place of."""

    def put(self, item: T) -> bool:
        """Wait for a place and take it. False once the queue has ended: the item is not wanted any more."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or len(self._items) < self._size or self._passes(item))
            if not self._ended and len(self._items) == self._size:
                self._items.pop()
                self.replaced += 1
            if not self._ended:
                self._items.append(item)
                self._changed.notify_all()
            return not self._ended

    def _passes(self, item: T) -> bool:
        """Whether `item` may take the place of the last one that waits."""
        return self._passing(item) and self._passing(self._items[-1])

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
