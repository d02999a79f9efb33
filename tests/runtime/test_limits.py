"""Files that a user names end in bounded time and memory, whatever they are."""

from __future__ import annotations

import os
import struct
import threading
import zlib
from pathlib import Path

import pytest
from fastcam_runtime import limits
from fastcam_runtime.errors import FastcamError, ModelError
from fastcam_runtime.limits import MAX_PHOTO, MAX_PHOTO_SIDE, read_whole
from fastcam_runtime.model.file import summarize_file
from fastcam_runtime.network.certificate import Certificate
from support.processes import fastcam, started
from support.tiny_grafts import save_graft


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def test_a_file_is_read_whole_up_to_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"12345")
    assert read_whole(path, 5) == b"12345"
    with pytest.raises(OSError, match="more than 4 bytes"):
        read_whole(path, 4)
    with pytest.raises(IsADirectoryError):
        read_whole(tmp_path)


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_a_device_is_no_file(device: str) -> None:
    with pytest.raises(OSError, match="a device, not a file"):
        read_whole(Path(device))


def test_a_pipe_is_read_if_somebody_writes(fifo: Path) -> None:
    writer = threading.Thread(target=fifo.write_bytes, args=(b"a\nb",))
    writer.start()
    assert read_whole(fifo) == b"a\nb"
    writer.join()


def test_a_pipe_that_nobody_writes_to(fifo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PIPE_SECONDS", 0.05)
    with pytest.raises(OSError, match="a pipe, still open after"):
        read_whole(fifo)


def test_a_pipe_where_none_is_allowed_is_not_waited_for(fifo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PIPE_SECONDS", None)
    with pytest.raises(OSError, match="a pipe, not a file"):
        read_whole(fifo, pipes=False)


def test_a_pipe_is_neither_a_model_nor_a_certificate(fifo: Path) -> None:
    with pytest.raises(ModelError, match="pipe is a pipe, not a model's file"):
        summarize_file(fifo)
    with pytest.raises(FastcamError, match="pipe is a pipe"):
        Certificate(fifo, fifo).context()


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


_SIDE = int(MAX_PHOTO**0.5) + 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "refusal"),
    [
        ((_SIDE, _SIDE), f"more than {MAX_PHOTO} pixels, see OPENCV_IO_MAX_IMAGE_PIXELS"),
        # A PNG can be read with 1,000,000 rows, but the picture with its caption cannot be written.
        ((1, 1_000_000), f"a side of more than {MAX_PHOTO_SIDE} pixels, see OPENCV_IO_MAX_IMAGE_HEIGHT"),
    ],
)
def test_a_photo_with_too_many_pixels_is_refused_before_it_is_decoded(
    size: tuple[int, int], refusal: str, tmp_path: Path
) -> None:
    head = struct.pack(">IIBBBBB", *size, 8, 2, 0, 0, 0)
    chunks = _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(b"\0")) + _chunk(b"IEND", b"")
    (tmp_path / "bomb.png").write_bytes(b"\x89PNG\r\n\x1a\n" + chunks)
    model = save_graft(tmp_path / "model.onnx")
    with fastcam("run", model, tmp_path / "bomb.png", "null://") as process:
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert f"bomb.png: {refusal}; skipped" in errors


@pytest.mark.slow
def test_a_program_that_imports_the_package_keeps_its_limit_of_pixels() -> None:
    program = "import os, fastcam_runtime; print('OPENCV_IO_MAX_IMAGE_PIXELS' in os.environ)"
    with started("-c", program) as process:
        assert process.communicate(timeout=60) == ("False\n", "")
