"""Fixtures that several test folders share."""

from __future__ import annotations

import os
from types import ModuleType

import pytest

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # before a test module imports onnxruntime


@pytest.fixture(scope="session")
def torchvision() -> ModuleType:
    """torchvision, as the benchmarks import it."""
    pytest.importorskip("torch")
    from benchmarks.modules import import_torchvision

    try:
        return import_torchvision()
    except ImportError as error:
        pytest.skip(f"torchvision cannot be imported: {error}")
