"""The folder of the cache: what is not its own record is no entry."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fastcam_runtime import limits
from fastcam_runtime.prepared.store import Store


@pytest.mark.parametrize(
    "record", ['{"source": "a", "outputs": "b", "form": "c", "bytes": "d"}', "[" * 60_000, None]
)
def test_a_foreign_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record: str | None) -> None:
    """Text where a number should be, brackets without an end, a pipe, which is not waited for: no entry."""
    monkeypatch.setattr(limits, "PIPE_SECONDS", None)
    store = Store(tmp_path)
    (tmp_path / "key").mkdir()
    note = tmp_path / "key" / "entry.json"
    if record is None:
        os.mkfifo(note)
    else:
        note.write_text(record)
    assert store.entries() == []
    assert store.find("key") is None
    assert not (tmp_path / "key").exists()


@pytest.mark.parametrize("part", ["folder", "entry", "record", "model"])
def test_what_belongs_to_somebody_else_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    """In a folder that several users share, another could put a network of their own there."""
    store = Store(tmp_path / "cache")
    with store.draft() as draft:
        draft.write_bytes(b"network")
        store.publish(draft, "key", "model.onnx", "saliency_map", "prepared")
    assert store.find("key") is not None
    entry = tmp_path / "cache" / "key"
    paths = {
        "folder": store.folder,
        "entry": entry,
        "record": entry / "entry.json",
        "model": store.model("key"),
    }
    mine, stranger = os.getuid(), 54_321
    if mine == 0:
        os.chown(paths[part], stranger, -1)
    else:  # nobody but root can give a file away: everything is somebody else's then
        monkeypatch.setattr(os, "getuid", lambda: stranger)
    assert store.find("key") is None
