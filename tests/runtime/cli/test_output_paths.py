"""A run never overwrites its inputs."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastcam_runtime.cli.output_paths import check_json_path, refuse_overwriting
from fastcam_runtime.errors import SinkError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos").mkdir()
    for name in ("model.onnx", "clip.mp4", "photos/a.jpg", "photos/b.jpg", "photos/c-007.png"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "link.mp4").symlink_to("clip.mp4")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "a.jpg").symlink_to("../photos/a.jpg")
    (tmp_path / "links" / "gone.jpg").symlink_to("../photos/gone.jpg")
    (tmp_path / "here").symlink_to(".")
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("clip.mp4", "clip.mp4"),
        ("clip.mp4", "photos/../clip.mp4"),
        ("clip.mp4", "link.mp4"),
        ("clip.mp4", "model.onnx"),
        ("photos", "photos/"),
        ("photos", "photos/b.jpg"),
        ("photos", "photos/c-%03d.png"),
        ("photos/*.png", "photos/../photos/c-%d.png"),
        ("photos/c-007.png", "photos/c-%03d.png"),
        ("photos/*.jpg", "photos/"),
        ("photos/*.jpg", "photos/b.jpg"),
        ("photos/a.jpg", "photos/"),
        ("photos/a.jpg", "photos/../photos"),
        ("links", "photos/"),
        ("links/a.jpg", "photos/"),
        ("links/*.jpg", "photos/"),
        ("links", "photos/a.jpg"),
    ],
)
def test_refused(source: str, output: str) -> None:
    with pytest.raises(SinkError, match=r"(is an input|holds inputs) of this run; name another output"):
        refuse_overwriting(["model.onnx", source], ["null://", output])


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("source", "output"),
    [("clip.mp4", "out.mp4"), ("photos", "overlays/"), ("photos", "photos/c.mp4"),
     ("photos", "photos/d-%03d.png"), ("photos", "%03d.png"), ("clip.mp4", "./"),
     ("photos/a.jpg", "./"), ("photos/a.jpg", "photos/b.jpg"), ("0", "clip.mp4"), ("test://", "clip.mp4"),
     ("http://camera/", "http://:8000"), ("links", "overlays/"), ("links", "./")],
)  # fmt: skip
def test_allowed(source: str, output: str) -> None:
    refuse_overwriting(["model.onnx", source], [output])


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("again", ["o.png", "./o.png", "photos/../o.png", "here/o.png"])
def test_an_output_named_twice(again: str) -> None:
    with pytest.raises(SinkError, match=r"o\.png: named twice"):
        refuse_overwriting(["model.onnx", "clip.mp4"], ["o.png", "null://", again])


def test_figures_replace_only_figures(folder: Path) -> None:
    with pytest.raises(SinkError, match=r"model.onnx exists and is not a .json file"):
        check_json_path(folder / "model.onnx")
    (folder / "old.json").write_text("{}")
    check_json_path(folder / "old.json")
    check_json_path(folder / "new.txt")
