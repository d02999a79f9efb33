"""Error messages of other packages, in one line."""

from __future__ import annotations

import pytest
from fastcam_runtime.errors import FastcamError, UnexpectedError, first_line, guarded, last_line


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("one", "one", "one"),
        ("\n  one \ntwo\n\n three\n", "one", "three"),
        ("", "RuntimeError", "RuntimeError"),
        (" \n\n", "RuntimeError", "RuntimeError"),
    ],
)
def test_one_line(text: str, first: str, last: str) -> None:
    assert first_line(RuntimeError(text)) == first
    assert last_line(RuntimeError(text)) == last


def test_a_thread_that_the_system_refuses_is_no_bug() -> None:
    with pytest.raises(FastcamError, match="no thread can be started") as found, guarded("fastcam run"):
        raise RuntimeError("can't start new thread")
    assert not isinstance(found.value, UnexpectedError)
