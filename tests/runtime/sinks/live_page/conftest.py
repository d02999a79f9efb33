"""A live page that somebody writes pictures to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.paging import Loop


@pytest.fixture
def loop() -> Iterator[Loop]:
    running = Loop()
    yield running
    running.close()
