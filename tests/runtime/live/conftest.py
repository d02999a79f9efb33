"""An explainer, and a check for leftover threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from fastcam_runtime import Explainer
from support.looping import FRAME
from support.tiny_grafts import save_graft


@pytest.fixture(scope="module")
def explainer(tmp_path_factory: pytest.TempPathFactory) -> Explainer:
    path = save_graft(tmp_path_factory.mktemp("loop") / "graft.onnx", size=FRAME)
    return Explainer(path, threads=1, outputs=["saliency_map"])


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    left = [thread.name for thread in threading.enumerate() if thread not in before]
    assert not [name for name in left if name.startswith("fastcam")]
