"""Every command and every Python example of the README, run as a reader would: in order, in one folder."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import metadata
from pathlib import Path

import cv2
import fastcam_models
import fastcam_runtime
import pytest
from fastcam_runtime.draw.caption import row_height
from support.paths import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
TIMEOUT = 300


@dataclass(frozen=True)
class Block:
    language: str
    text: str


BLOCKS = [Block(*match) for match in re.findall(r"^```(\w+)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)]


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the README's model.onnx, labels.txt and photo.jpg."""
    folder = tmp_path_factory.mktemp("a reader")
    models = fastcam_models.default_model().parent
    shutil.copy(fastcam_models.default_model(), folder / "model.onnx")
    shutil.copy(models / "imagenet_labels.txt", folder / "labels.txt")
    clip = Path(fastcam_runtime.__file__).parent / "sources" / "clip"
    shutil.copy(clip / "chelsea.jpg", folder / "photo.jpg")
    return folder


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


NOTHING_TO_PREPARE = ("nothing to prepare", "only for compiled kernels")
"""The messages of `--prepared` if this machine cannot prepare the file."""


def run(command: list[str], folder: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    result = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path}, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=TIMEOUT, check=False,
    )  # fmt: skip
    if "--prepared" in command[-1] and any(reason in result.stderr for reason in NOTHING_TO_PREPARE):
        return
    assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"


def check_make(target: str) -> None:
    """`make demo` and `make test` set up an environment: here only that they exist and say what they run."""
    result = subprocess.run(
        ["make", "--dry-run", target], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


def check_install(requirement: str) -> None:
    extras = metadata("fastcam-edge").get_all("Provides-Extra")
    for extra in re.findall(r"\[(\w+)\]", requirement):
        assert extra in extras


@pytest.mark.slow
def test_commands_and_examples(reader: Path) -> None:
    for block in BLOCKS:
        if block.language == "python":
            run([sys.executable, "-c", block.text], reader)
        elif block.language == "sh":
            for line in block.text.splitlines():
                command = line.split("#")[0].strip()
                if command.startswith("make "):
                    check_make(command.removeprefix("make "))
                elif command.startswith("pip install "):
                    check_install(command)
                elif command:
                    # The page would be served until Ctrl-C.
                    command = command.replace("--loop", "--loop --frames 30")
                    run(["bash", "-c", command.replace(":8000", f":{free_port()}")], reader)

    for name in ("overlay.png", "cat.png", "explained.png"):
        picture, photo = (cv2.imread(str(reader / path)) for path in (name, "photo.jpg"))
        caption = 0 if name == "explained.png" else row_height(*photo.shape[:2])
        assert picture.shape == (photo.shape[0] + caption, *photo.shape[1:])
    assert cv2.VideoCapture(str(reader / "clip.mp4")).get(cv2.CAP_PROP_FRAME_COUNT) == 60
    assert (reader / "mine-fastcam.onnx").is_file()


def test_the_readme_has_the_blocks_that_the_test_runs() -> None:
    """A change of the fences must not silently empty the test above."""
    languages = [block.language for block in BLOCKS]
    assert languages.count("sh") >= 6
    assert languages.count("python") >= 3
    assert set(languages) <= {"sh", "python", "cpp", "js"}


def test_links_and_pictures_exist() -> None:
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", README)
    assert targets
    for target in targets:
        assert (ROOT / target).exists(), target
