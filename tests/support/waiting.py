"""Waiting for what another thread or process does."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest


def until(condition: Callable[[], object], what: str = "nothing happened") -> None:
    """Wait until `condition` holds; after a generous timeout, the test fails with `what`."""
    end = time.monotonic() + 20
    while not condition():
        if time.monotonic() > end:
            pytest.fail(what)
        time.sleep(0.005)
