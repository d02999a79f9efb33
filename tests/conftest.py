"""Fixtures that several test folders share."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # before a test module imports onnxruntime
# Hundreds of tests start a process. Without cached bytecode each would compile both packages again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test with a browser or an emulator is slow too, so that `-m "not slow"` leaves it out."""
    for item in items:
        if item.get_closest_marker("browser") or item.get_closest_marker("arm"):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Neither tests nor their processes write into the user's cache; downloaded files are only read."""
    from fastcam_runtime.installation import user_cache

    folder = tmp_path_factory.mktemp("cache")
    web = folder / "fastcam/web"
    web.mkdir(parents=True)
    for package in user_cache("web").glob("onnxruntime-web-*"):
        (web / package.name).symlink_to(package)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder


def pytest_collection_finish() -> None:
    """Freeze the objects of the imports: `export` runs a full garbage collection every time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def torchvision() -> ModuleType:
    """torchvision, as the benchmarks import it."""
    pytest.importorskip("torch")
    from benchmarks.inputs.modules import import_torchvision

    try:
        return import_torchvision()
    except ImportError as error:
        pytest.skip(f"torchvision cannot be imported: {error}")
