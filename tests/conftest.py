"""Fixtures that several test folders share."""

from __future__ import annotations

from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def torchvision() -> ModuleType:
    """torchvision, as the benchmarks import it."""
    pytest.importorskip("torch")
    from benchmarks.modules import import_torchvision

    try:
        return import_torchvision()
    except ImportError as error:
        pytest.skip(f"torchvision cannot be imported: {error}")
