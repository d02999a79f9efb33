"""The libraries that decode pictures print nothing: our own line says what is wrong."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
from fastcam_runtime import SourceError
from fastcam_runtime.sources.quiet import decoding
from fastcam_runtime.sources.registry import open_source


def damaged(suffix: str) -> bytes:
    """A picture of noise with a hole in the middle, and without its end."""
    pixels = np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)
    data = bytearray(cv2.imencode(suffix, pixels)[1].tobytes())
    data[len(data) // 2 : len(data) // 2 + 30] = b"\xff\xd5" * 15
    return bytes(data[:-300])


@pytest.mark.parametrize("suffix", [".png", ".jpg"])
def test_a_damaged_picture(suffix: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / f"photo{suffix}"
    path.write_bytes(damaged(suffix))
    cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_COLOR)
    assert capfd.readouterr().err != "", "the library prints nothing here: the test shows nothing"
    try:
        with open_source(str(path)) as source:
            source.read()
    except SourceError:
        pass
    assert capfd.readouterr().err == ""


def test_our_own_lines_are_kept(capfd: pytest.CaptureFixture[str]) -> None:
    handler = logging.StreamHandler(sys.__stderr__)
    with decoding():
        handler.emit(logging.LogRecord("x", logging.INFO, "", 0, "fastcam: a line", None, None))
        print("libpng warning: nothing", file=sys.__stderr__, flush=True)
    assert capfd.readouterr().err == "fastcam: a line\n"
