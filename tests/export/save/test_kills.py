"""Exports that are killed with SIGKILL at any step of publishing: the model that is there has its weights."""

from __future__ import annotations

import fcntl
import os
import signal
from pathlib import Path

import numpy as np
import onnx
import pytest
from fastcam_export import export
from support.networks import small_cnn
from support.processes import started
from support.running import picture, run

# Ends the process just before or after the rename of this number; 0 is before the first one.
KILLED = """
import os, signal, sys
from fastcam_export import export
replace, moves = os.replace, int(sys.argv[3])
def killed(old, new):
    global moves
    if moves == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    replace(old, new)
    moves -= 1
os.replace = killed
unlink = os.unlink
os.unlink = lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL) if moves <= 0 else unlink(*a, **k)
export(sys.argv[1], sys.argv[2])
"""


@pytest.fixture
def sources(tmp_path: Path) -> dict[str, Path]:
    """Two networks with external weights."""
    found = {}
    for name, channels in {"earlier": (8, 12, 16), "new": (16, 8, 12)}.items():
        found[name] = tmp_path / f"{name}.onnx"
        onnx.save(
            small_cnn(channels=channels), found[name],
            save_as_external_data=True, location=f"{name}.data", size_threshold=100,
        )  # fmt: skip
    return found


def scores(model: Path) -> np.ndarray:
    return run(model, input=picture(1, 3, 64, 64))["logits"]


@pytest.mark.slow  # three processes that import onnx
@pytest.mark.parametrize(("moves", "there"), [(0, "earlier"), (1, "earlier"), (2, "new")])
def test_a_kill_between_two_renames(tmp_path: Path, sources: dict[str, Path], moves: int, there: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    target = folder / "out.onnx"
    export(sources["earlier"], target)
    with started("-c", KILLED, sources["new"], target, moves) as process:
        process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL
    np.testing.assert_array_equal(scores(target), scores(sources[there]))
    assert any(folder.glob(".fastcam-*"))
    export(sources["new"], target)
    np.testing.assert_array_equal(scores(target), scores(sources["new"]))
    names = sorted(path.name for path in folder.iterdir())
    assert len(names) == 2
    assert names[0] == "out.onnx"


def test_the_draft_of_a_living_process_stays(tmp_path: Path) -> None:
    living = tmp_path / ".fastcam-living"
    living.mkdir()
    with (living / "lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        export(small_cnn(), tmp_path / "out.onnx")
        assert living.exists()
    export(small_cnn(), tmp_path / "out.onnx")
    assert [path.name for path in tmp_path.iterdir()] == ["out.onnx"]


def test_files_are_on_the_disk_before_they_are_renamed(
    tmp_path: Path, sources: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    fsync, replace = os.fsync, os.replace

    def synced(descriptor: int) -> None:
        steps.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)
        fsync(descriptor)

    def renamed(old: Path, new: Path) -> None:
        steps.append(f"→{new.name}")
        replace(old, new)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", renamed)
    export(sources["new"], tmp_path / "out.onnx")
    renames = [step for step in steps if step.startswith("→")]
    assert renames == ["→out.onnx.data", "→out.onnx"]
    for rename in renames:
        assert steps.index(rename[1:]) < steps.index(rename)
    assert steps[-1] == tmp_path.name


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    real, link = tmp_path / "real" / "model.onnx", tmp_path / "link.onnx"
    link.symlink_to(real)
    for _ in range(2):  # a dangling link, then one to a file
        assert export(small_cnn(), link).path == real
        assert link.is_symlink()
        assert run(real, input=picture(1, 3, 64, 64))
