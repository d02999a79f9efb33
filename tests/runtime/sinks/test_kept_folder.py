"""A folder that keeps within its limits."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastcam_runtime import FastcamError, SinkError
from fastcam_runtime.sinks.kept_folder import KeptFolder


def keep(folder: KeptFolder, size: int, files: int = 0) -> str:
    """A file of `size` bytes; with `files`, a folder of so many of them."""
    name = folder.new_name()
    folder.make_room(files or 1, size * (files or 1))
    if files:
        (folder.path / name).mkdir()
        for number in range(files):
            (folder.path / name / str(number)).write_bytes(bytes(size))
    else:
        (folder.path / f"{name}.mp4").write_bytes(bytes(size))
    return name


def names(folder: KeptFolder) -> list[str]:
    return [kept.path.stem for kept in folder.kept()]


def test_the_oldest_goes_first_by_size(tmp_path: Path) -> None:
    folder = KeptFolder(tmp_path / "new", megabytes=1)
    made = [keep(folder, 300_000) for _ in range(5)]
    assert made == sorted(set(made))
    assert names(folder) == made[-3:]
    keep(folder, 1_000_000)
    assert len(names(folder)) == 1


def test_the_oldest_goes_first_by_files(tmp_path: Path) -> None:
    folder = KeptFolder(tmp_path, files=10)
    made = [keep(folder, 10, files=4), keep(folder, 10), keep(folder, 10, files=4), keep(folder, 10, files=4)]
    assert names(folder) == made[1:]
    assert sum(kept.files for kept in folder.kept()) == 9


def test_what_others_put_there_stays(tmp_path: Path) -> None:
    for name in ("holiday.mp4", "20261118.mp4", "notes.txt"):
        (tmp_path / name).write_bytes(bytes(2_000_000))
    folder = KeptFolder(tmp_path, files=2, megabytes=1)
    made = [keep(folder, 10) for _ in range(4)]
    assert names(folder) == made[2:]
    assert {"holiday.mp4", "20261118.mp4", "notes.txt"} <= {path.name for path in tmp_path.iterdir()}


def test_names_go_on_after_a_restart(tmp_path: Path) -> None:
    made = [keep(KeptFolder(tmp_path), 10) for _ in range(20)]
    assert made == sorted(set(made))
    assert names(KeptFolder(tmp_path)) == made


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(FastcamError, match="at least 1 file is needed, not 0"):
        KeptFolder(tmp_path, files=0)
    with pytest.raises(SinkError, match=r"its limit of 3 files and 1 MB is too low for 1 files of 2\.0 MB"):
        KeptFolder(tmp_path, files=3, megabytes=1).make_room(1, 2_000_000)
    assert KeptFolder(tmp_path / "nothing").kept() == []
