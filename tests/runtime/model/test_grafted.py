"""The memory that closed sessions leave behind."""

from __future__ import annotations

import platform

import numpy as np
import pytest
from fastcam_runtime.measure import system
from fastcam_runtime.model.grafted import release_memory


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library than glibc")
def test_freed_memory_is_given_back() -> None:
    """Blocks smaller than a page below one that stays allocated: glibc does not return them by itself."""
    blocks = [np.ones(4096, np.uint8) for _ in range(20_000)]
    held = system.rss_bytes()
    del blocks[:-1]
    release_memory()
    assert system.rss_bytes() < held - 40e6
