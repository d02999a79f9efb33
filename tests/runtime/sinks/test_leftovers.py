"""Recordings whose process is killed: the leftover part, and its recovery."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fastcam_runtime.cli.main import main
from fastcam_runtime.errors import SinkError
from fastcam_runtime.sinks import Status
from fastcam_runtime.sinks.leftovers import leftovers, recover, tell_leftovers
from fastcam_runtime.sinks.video import VideoFile
from support.killed_recording import record_and_kill
from support.videos import frames_of

needs_ffmpeg = pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="no ffmpeg on the PATH")
DEAD = 4194304 + 1  # above the largest number that Linux gives a process


@pytest.mark.slow
@needs_ffmpeg
@pytest.mark.parametrize("name", ["out.mp4", "out.mkv", "out.webm", "out.avi"])
def test_a_killed_recording_is_recovered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    part = record_and_kill(tmp_path / name)
    assert [leftover.part for leftover in leftovers(tmp_path)] == [part]
    before = len(frames_of(part))
    assert main(["recover", str(part)]) == 0
    assert capsys.readouterr().out.startswith(f"{tmp_path / name}: recovered, ")
    assert list(tmp_path.iterdir()) == [tmp_path / name]
    assert len(frames_of(tmp_path / name)) >= before - 1 > 10


@pytest.mark.slow
@pytest.mark.parametrize("name", ["out.mkv", "out.webm", "out.avi", "out.webp"])
def test_a_killed_recording_is_recovered_without_ffmpeg(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    part = record_and_kill(tmp_path / name, "/nonexistent")
    monkeypatch.setenv("PATH", "/nonexistent")
    assert main(["recover", str(tmp_path / name)]) == 0
    assert list(tmp_path.iterdir()) == [tmp_path / name] != [part]
    if name == "out.webp":
        images = pytest.importorskip("PIL.Image")
        with images.open(tmp_path / name) as animation:
            assert animation.n_frames > 10
            animation.seek(animation.n_frames - 1)
            animation.load()
    else:
        assert len(frames_of(tmp_path / name)) > 10


@pytest.mark.slow
def test_mp4_without_ffmpeg_says_that_it_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    part = record_and_kill(tmp_path / "out.mp4", "/nonexistent", least=1000)
    monkeypatch.setenv("PATH", "/nonexistent")
    assert main(["recover", str(part)]) == 2
    assert "has its index at the end only" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [part]


def test_a_finished_recording_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "out.avi").write_bytes(b"good")
    for _ in range(2):
        with VideoFile(tmp_path / "other.avi", 25.0) as sink:
            sink.write(np.zeros((32, 32, 3), np.uint8), Status(0))
        (tmp_path / "other.avi").rename(tmp_path / f".out.{DEAD}.part.avi")
        assert main(["recover", str(tmp_path / "out.avi")]) == 0
    assert (tmp_path / "out.avi").read_bytes() == b"good"
    assert {path.name for path in tmp_path.iterdir()} == {
        "out.avi",
        "out-recovered.avi",
        "out-recovered-2.avi",
    }


def test_parts_are_told_at_the_start(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "kept").mkdir()
    there = [tmp_path / f".out.{DEAD}.part.mp4", tmp_path / f"kept/.a day.{DEAD}.part.mp4"]
    for part in there:
        part.touch()
    # Not told: of another kind, or nobody's; the copy of a part is removed.
    (tmp_path / f".report.{DEAD}.part.json").touch()
    (tmp_path / ".part.mp4").touch()
    copy = tmp_path / f"..out.{DEAD}.part.{DEAD}.part.mp4"
    copy.touch()
    with caplog.at_level(logging.WARNING):
        tell_leftovers(
            ["http://:8000", f"{tmp_path}/a.mp4", f"{tmp_path}/b.webm", "no/c.png"], tmp_path / "kept"
        )
    assert [message.split(" is left of")[0] for message in caplog.messages] == list(map(str, there))
    assert caplog.messages[0].endswith(f"with: fastcam recover {there[0]}")
    assert caplog.messages[1].endswith(f"with: fastcam recover '{there[1]}'")
    assert not copy.exists()


def test_a_part_that_is_being_written_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        part = tmp_path / f".out.{process.pid}.part.mp4"
        part.touch()
        assert leftovers(tmp_path) == []
        assert main(["recover", str(part)]) == 2
        assert "a process still writes it" in capsys.readouterr().err
        os.utime(part, (1e9, 1e9))  # before that process began: the number belonged to another process
        assert [leftover.part for leftover in leftovers(tmp_path)] == [part]
        process.communicate(b"\n")


def test_what_is_not_there_names_what_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recover", str(tmp_path / "out.mp4")]) == 2
    assert "no part of a recording that was cut off; there is none" in capsys.readouterr().err
    (tmp_path / f".b.{DEAD}.part.mp4").touch()
    assert main(["recover", str(tmp_path / "out.mp4")]) == 2
    assert f"there is {tmp_path}/.b.{DEAD}.part.mp4" in capsys.readouterr().err


def test_a_part_of_the_same_number_is_not_overwritten(tmp_path: Path) -> None:
    """In a container every start has the same process number."""
    part = tmp_path / f".out.{os.getpid()}.part.avi"
    for content in (b"first", b"second"):
        part.write_bytes(content)
        with VideoFile(tmp_path / "out.avi", 25.0) as sink:
            sink.write(np.zeros((32, 32, 3), np.uint8), Status(0))
    assert (tmp_path / ".out.0.part.avi").read_bytes() == b"first"
    assert (tmp_path / ".out-1.0.part.avi").read_bytes() == b"second"
    assert len(leftovers(tmp_path)) == 2
    with pytest.raises(SinkError, match="holds no picture"):
        recover(leftovers(tmp_path)[0])
