"""What `graft` says when it refuses."""

from __future__ import annotations

from typing import Any

import pytest
from fastcam_export import GraftError, graft

from support.networks import small_cnn


def refusal_of(**options: Any) -> str:
    """The message, one line, about options that do not fit a small network."""
    with pytest.raises(GraftError) as refusal:
        graft(small_cnn(), **options)
    message = str(refusal.value)
    assert "\n" not in message
    return message
