"""A live page with a writer of pictures, and a browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.chromium import Chromium, find_chromium
from support.paging import Loop


@pytest.fixture
def loop() -> Iterator[Loop]:
    running = Loop()
    yield running
    running.close()


@pytest.fixture(scope="package")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    if find_chromium() is None:
        pytest.skip("no Chromium to open the page in")
    browser = Chromium(tmp_path_factory.mktemp("chromium") / "profile")
    yield browser
    browser.close()
