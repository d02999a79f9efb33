"""Which encoder works is found out before the first picture, and once."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from fastcam_runtime.sinks import Status
from fastcam_runtime.sinks.encoders import ffmpeg
from fastcam_runtime.sinks.video import VideoFile, prepare_recording
from support.videos import frames_of
from support.waiting import until

pytestmark = pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="no ffmpeg on the PATH")


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with the last argument of each call of `ffmpeg`, which does what it always does."""
    log, program = tmp_path / "calls", tmp_path / "bin" / "ffmpeg"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\nfor last; do :; done\necho "$last" >> {log}\nexec {shutil.which("ffmpeg")} "$@"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    ffmpeg._works.cache_clear()
    return log


def tried(calls: Path) -> list[str]:
    return [Path(line).name for line in calls.read_text().split()] if calls.exists() else []


@pytest.mark.slow
def test_the_trial_runs_before_the_first_picture_and_once(tmp_path: Path, calls: Path) -> None:
    with VideoFile(tmp_path / "out.mp4", 20.0) as video:
        until(lambda: tried(calls) == ["trial.mp4"])
        for number in range(5):
            video.write(np.full((120, 160, 3), 40 * number, np.uint8), Status(number))
    with VideoFile(tmp_path / "other.mp4", 20.0) as video:
        video.write(np.zeros((240, 320, 3), np.uint8), Status(0))
    assert tried(calls).count("trial.mp4") == 1
    assert len(frames_of(tmp_path / "out.mp4")) == 5


@pytest.mark.slow
def test_a_recording_can_be_prepared_long_before(tmp_path: Path, calls: Path) -> None:
    prepare_recording(".mp4", 1000.0, real_time=True)
    until(lambda: tried(calls) == ["trial.mp4"])
    with VideoFile(tmp_path / "out.mp4", 1000.0, real_time=True) as video:
        video.write(np.zeros((120, 160, 3), np.uint8), Status(0))
    assert tried(calls).count("trial.mp4") == 1


def test_nothing_is_tried_for_formats_without_ffmpeg(tmp_path: Path, calls: Path) -> None:
    with VideoFile(tmp_path / "out.avi", 20.0) as video:
        video.write(np.zeros((120, 160, 3), np.uint8), Status(0))
    assert tried(calls) == []
