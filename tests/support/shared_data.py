"""Real models, photos and videos that may be beside the checkout; tests that need them skip without them."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.paths import ROOT

SHARED = ROOT.parent / "shared"


def shared(relative: str) -> Path:
    """The path of a shared file; skips the test if it is missing."""
    path = SHARED / relative
    if not path.exists():
        pytest.skip(f"{relative} is not beside the checkout")
    return path
