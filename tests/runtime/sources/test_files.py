"""Files as sources: real videos and images, written and read by OpenCV."""

from __future__ import annotations

import glob
import itertools
import logging
import os
import threading
import time
from pathlib import Path

import cv2
import numpy as np
import pytest
from fastcam_runtime.errors import SourceError
from fastcam_runtime.live.controls import Controls
from fastcam_runtime.sinks import Status, open_sink
from fastcam_runtime.sources import Source, open_source
from fastcam_runtime.sources.patterns import matching

FRAMES = 40
BITS = 8


def numbered(number: int, width: int = 64, height: int = 48) -> np.ndarray:
    """A picture with its number encoded in black and white columns, which survive any codec."""
    bits = [255 if number >> bit & 1 else 0 for bit in range(BITS)]
    return np.broadcast_to(np.repeat(np.uint8(bits), width // BITS)[None, :, None], (height, width, 3)).copy()


def number_of(image: np.ndarray) -> int:
    columns = image.reshape(image.shape[0], BITS, -1).mean(axis=(0, 2))
    return sum(1 << bit for bit in range(BITS) if columns[bit] > 127)


def record(path: Path, codec: str = "MJPG", frames: int = FRAMES, fps: float = 25.0) -> Path:
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*codec), fps, (64, 48))
    assert writer.isOpened()
    for number in range(frames):
        writer.write(numbered(number))
    writer.release()
    return path


def read_all(source: Source) -> list[np.ndarray]:
    with source:
        return [frame.image for frame in iter(source.read, None)]


@pytest.mark.parametrize(
    ("name", "codec"), [("clip.avi", "MJPG"), ("clip.mp4", "mp4v"), ("clip.mkv", "mp4v")]
)
def test_video_gives_every_frame_in_order(tmp_path: Path, name: str, codec: str) -> None:
    source = open_source(str(record(tmp_path / name, codec, fps=29.97)))
    assert not source.live
    assert source.fps == pytest.approx(29.97)
    with source:
        frames = list(iter(source.read, None))
    assert [number_of(frame.image) for frame in frames] == list(range(FRAMES))
    assert [frame.index for frame in frames] == list(range(FRAMES))
    assert all(a.time <= b.time for a, b in itertools.pairwise(frames))
    assert frames[0].image.shape == (48, 64, 3)
    assert frames[0].image.dtype == np.uint8
    assert source.skipped == 0


def test_read_frames_stay_as_they_were(tmp_path: Path) -> None:
    source = open_source(str(record(tmp_path / "clip.avi", frames=3)))
    first = source.read()
    assert first is not None
    read_all(source)
    assert number_of(first.image) == 0


def test_loop_begins_again_and_keeps_counting(tmp_path: Path) -> None:
    with open_source(str(record(tmp_path / "clip.avi", frames=3)), loop=True) as source:
        frames = [source.read() for _ in range(8)]
    assert [number_of(frame.image) for frame in frames if frame] == [0, 1, 2, 0, 1, 2, 0, 1]
    assert [frame.index for frame in frames if frame] == list(range(8))


def test_broken_frames_in_the_middle_are_passed_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = record(tmp_path / "clip.avi")
    content = bytearray(path.read_bytes())
    chunks = [at for at in range(content.index(b"movi"), len(content)) if content[at : at + 4] == b"00dc"]
    for broken in (20, 21):
        start, end = chunks[broken] + 8, chunks[broken + 1]
        content[start:end] = bytes(end - start)
    path.write_bytes(content)
    source = open_source(str(path))
    with caplog.at_level(logging.WARNING):
        numbers = [number_of(image) for image in read_all(source)]
    assert numbers == [number for number in range(FRAMES) if number not in (20, 21)]
    assert source.skipped == 2
    assert "clip.avi" in caplog.text


def test_cut_off_video_gives_what_it_has(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = record(tmp_path / "clip.avi")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with caplog.at_level(logging.WARNING):
        numbers = [number_of(image) for image in read_all(open_source(str(path)))]
    assert 5 < len(numbers) < FRAMES
    assert numbers == list(range(len(numbers)))
    assert f"{len(numbers)} of {FRAMES} frames" in caplog.text


def test_pace_holds_a_file_back_until_it_is_closed(tmp_path: Path) -> None:
    source = open_source(str(record(tmp_path / "clip.avi", frames=3)), fps=0.001, paced=True)
    assert source.fps == 0.001
    assert source.read() is not None
    late: list[object] = ["unanswered"]
    reader = threading.Thread(target=lambda: late.__setitem__(0, source.read()))
    reader.start()
    source.close()
    reader.join(20)
    assert late == [None]


def test_pace_is_the_rate_of_a_file(tmp_path: Path) -> None:
    with open_source(str(record(tmp_path / "clip.avi", frames=6)), paced=True) as source:
        times = [frame.time for frame in iter(source.read, None)]
    assert times[-1] - times[0] >= 4 / 25


@pytest.mark.parametrize(
    ("asked", "rate", "numbers"),
    [
        (10, 10, [0, 3, 5, 8, 10]),  # every 2.5th: the first one that is due
        (12.5, 12.5, [0, 2, 4, 6, 8, 10]),
        (24, 24, [0, *range(2, 12)]),
        (25, 25, list(range(12))),
        (100, 25, list(range(12))),  # no frame is shown twice
        (1, 1, [0]),
    ],
)
def test_frames_are_left_out_for_a_lower_rate(
    tmp_path: Path, asked: float, rate: float, numbers: list[int]
) -> None:
    with open_source(str(record(tmp_path / "clip.avi", frames=12)), fps=asked) as source:
        assert source.fps == rate
        frames = list(iter(source.read, None))
    assert [number_of(frame.image) for frame in frames] == [frame.index for frame in frames] == numbers


def test_a_lower_rate_goes_on_through_a_loop(tmp_path: Path) -> None:
    with open_source(str(record(tmp_path / "clip.avi", frames=5)), fps=12.5, loop=True) as source:
        frames = [frame for _ in range(6) if (frame := source.read())]
    assert [frame.index for frame in frames] == [0, 2, 4, 6, 8, 10]
    assert [number_of(frame.image) for frame in frames] == [0, 2, 4, 1, 3, 0]


def test_images_of_a_folder_by_name_with_an_unreadable_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for number, name in ((3, "c.PNG"), (1, "a.png"), (4, "ü.bmp")):
        # imencode, since imwrite knows a suffix by its lower-case form on some builds only.
        (tmp_path / name).write_bytes(cv2.imencode(Path(name).suffix.lower(), numbered(number))[1].tobytes())
    (tmp_path / "b.jpg").write_bytes(b"\xff\xd8\xff\xe0 not a picture")
    (tmp_path / "empty.jpg").touch()
    (tmp_path / "notes.txt").write_text("no image")
    (tmp_path / "folder.png").mkdir()
    (tmp_path / ".hidden.png").write_bytes((tmp_path / "a.png").read_bytes())
    source = open_source(f"{tmp_path}/")
    with caplog.at_level(logging.WARNING):
        assert [number_of(image) for image in read_all(source)] == [1, 3, 4]
    assert source.skipped == 2
    assert "b.jpg" in caplog.text
    assert "empty.jpg" in caplog.text


def test_glob_and_a_name_that_only_looks_like_one(tmp_path: Path) -> None:
    for number, name in ((1, "a1.png"), (2, "a2.png"), (3, "b.png"), (4, "[x].png")):
        cv2.imwrite(str(tmp_path / name), numbered(number))
    assert [number_of(image) for image in read_all(open_source(f"{tmp_path}/a*.png"))] == [1, 2]
    assert [number_of(image) for image in read_all(open_source(f"{tmp_path}/[x].png"))] == [4]


def test_image_is_turned_upright_by_its_exif(tmp_path: Path) -> None:
    upright = np.zeros((40, 20, 3), np.uint8)
    upright[:20] = 255
    stored = cv2.rotate(upright, cv2.ROTATE_90_COUNTERCLOCKWISE)
    jpeg = cv2.imencode(".jpg", stored)[1].tobytes()
    tiff = b"MM\0*\0\0\0\x08" + b"\0\x01" + b"\x01\x12\0\x03\0\0\0\x01\0\x06\0\0" + b"\0\0\0\0"
    exif = b"Exif\0\0" + tiff
    path = tmp_path / "phone.jpg"
    path.write_bytes(jpeg[:2] + b"\xff\xe1" + (len(exif) + 2).to_bytes(2, "big") + exif + jpeg[2:])
    (image,) = read_all(open_source(str(path)))
    assert image.shape == (40, 20, 3)
    assert image[:18].min() > 200
    assert image[22:].max() < 50


@pytest.mark.parametrize(
    ("flip", "corner"), [(None, (0, 0)), ("horizontal", (0, -1)), ("vertical", (-1, 0)), ("both", (-1, -1))]
)
def test_flip_and_size(tmp_path: Path, flip: str | None, corner: tuple[int, int]) -> None:
    picture = np.zeros((48, 64, 3), np.uint8)
    picture[:24, :32] = (10, 20, 250)
    cv2.imwrite(str(tmp_path / "red.png"), picture)
    (image,) = read_all(open_source(str(tmp_path / "red.png"), size=(32, 12), flip=flip))
    assert image.shape == (12, 32, 3)
    assert tuple(image[corner]) == (10, 20, 250)
    assert int((image > 0).any(axis=2).sum()) == 6 * 16


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"size": (0, 5)}, "size 0x5"),
        ({"fps": 0.0}, "rate 0.0"),
        ({"fps": float("nan")}, "rate nan"),
        ({"flip": "sideways"}, "'sideways' is not one of horizontal, vertical, both"),
    ],
)
def test_bad_options(options: dict[str, object], text: str) -> None:
    with pytest.raises(SourceError, match=text):
        open_source("any.mp4", **options)  # type: ignore[arg-type]


def test_errors_are_one_line_that_names_the_thing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "clip.mp4").write_bytes(b"not a video " * 100)
    (tmp_path / "empty.mp4").touch()
    (tmp_path / "bad.jpg").write_bytes(b"not an image")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    cases = {
        "clip.mp4": "clip.mp4: not a video",
        "empty.mp4": "empty.mp4: the file is empty",
        "bad.jpg": "bad.jpg: no frame",
        "folder": "folder: a folder without images",
        "*.png": r"\*.png: the pattern matches no image",
        "clop.mp4": "clop.mp4: no such file; closest: clip.mp4",
        "no/such/place.mp4": "no such file",
        "pipe": "pipe: neither a file nor a folder",
    }
    for name, text in cases.items():
        with pytest.raises(SourceError, match=text) as caught:
            open_source(str(tmp_path / name)).read()
        assert "\n" not in str(caught.value)
    for uri, text in {"": "is empty", "rtps://x": "closest: rtsp", "csi://x": "csi://0"}.items():
        with pytest.raises(SourceError, match=text):
            open_source(uri)
    # No output of OpenCV or FFmpeg besides our own.
    assert capfd.readouterr().err == ""


def test_closing_while_another_thread_reads(tmp_path: Path) -> None:
    path = record(tmp_path / "clip.avi")
    for _ in range(20):
        source = open_source(str(path), loop=True)
        reader = threading.Thread(target=lambda source=source: list(iter(source.read, None)))
        reader.start()
        time.sleep(0.005)
        source.close()
        reader.join(20)
        assert not reader.is_alive()
        assert source.read() is None


def test_a_text_is_no_video(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("FFmpeg would show this as a film of letters.\n" * 100)
    with pytest.raises(SourceError, match=r"notes\.txt: not a video but a text file"):
        open_source(str(path))


@pytest.mark.parametrize(("query", "paced", "rate"), [("fps=25", True, 25), ("fps=25", False, None)])
def test_a_clip_keeps_its_own_pace_for_somebody_who_watches(
    query: str, paced: bool, rate: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = open_source(f"test://?size=32x24&frames=3&{query}", paced=paced)
    waits: list[float] = []
    monkeypatch.setattr(source._closed, "wait", waits.append)  # type: ignore[attr-defined]
    while source.read() is not None:
        pass
    assert all(0 < wait <= 3 / rate for wait in waits) if rate else not waits
    assert bool(waits) == paced


@pytest.mark.slow
@pytest.mark.parametrize("name", ["12:30.mp4", "2026-11-16T18:30:00.mp4"])
def test_a_video_with_a_colon_in_its_name(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with open_sink(name, fps=5, controls=Controls(("overlay",))) as sink:
        for level in range(3):
            sink.write(np.full((48, 64, 3), 40 * level, np.uint8), Status(frame=level))
    assert [path.name for path in tmp_path.iterdir()] == [name]
    with open_source(name) as source:
        assert len(list(iter(source.read, None))) == 3


def test_a_raw_video_that_begins_dark_is_no_text(tmp_path: Path) -> None:
    luma, chroma = bytes([16]) * (64 * 48), bytes([120]) * (2 * 32 * 24)
    frames = b"".join(b"FRAME\n" + luma + chroma for _ in range(3))
    (tmp_path / "dark.y4m").write_bytes(b"YUV4MPEG2 W64 H48 F25:1 Ip A1:1 C420\n" + frames)
    with open_source(str(tmp_path / "dark.y4m")) as source:
        assert len(list(iter(source.read, None))) == 3


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="no links here")
def test_a_pattern_enters_linked_folders_once(tmp_path: Path) -> None:
    """Links to folders above made the number of files grow without an end."""
    for folder in ("a", "a/b", "c", ".hidden", "elsewhere/d"):
        (tmp_path / "root" / folder).mkdir(parents=True)
        cv2.imwrite(str(tmp_path / "root" / folder / "photo.png"), numbered(1))
    root = tmp_path / "root"
    (root / "elsewhere").rename(tmp_path / "elsewhere")
    (root / "a/above").symlink_to(root, target_is_directory=True)
    (root / "a/b/above").symlink_to(root, target_is_directory=True)
    (root / "a/b/self").symlink_to("self")
    (root / "0-first").symlink_to(root / "c", target_is_directory=True)
    (root / "outside").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    with open_source(f"{root}/**/*.png") as source:
        names = [str(Path(frame.name).relative_to(root)) for frame in iter(source.read, None)]
    assert names == ["a/b/photo.png", "a/photo.png", "c/photo.png", "outside/d/photo.png"]


@pytest.mark.parametrize(
    "pattern",
    [
        "*",
        "**",
        "**/*",
        "a/**",
        "**/b/*.png",
        "*/*.png",
        "a/[b]/*",
        ".h*/*",
        "**/.x",
        "a/../a/?",
        "**/**/x.png",
        "no*",
    ],
)
def test_patterns_match_what_python_matches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    for name in ("x.png", "a/x.png", "a/.x", "a/b/x.png", "a/b/c/x.png", ".h/x.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    expected = {os.path.normpath(name) for name in glob.glob(pattern, recursive=True)}
    assert {os.path.normpath(path) for path in matching(Path(pattern))} - {"."} == expected
    absolute = {os.path.normpath(path) for path in matching(tmp_path / pattern)} - {str(tmp_path)}
    assert absolute == {str(tmp_path / name) for name in expected}


def test_a_picture_with_a_hole(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """40 GB that take no room on the disk are not read."""
    (tmp_path / "a.png").touch()
    os.truncate(tmp_path / "a.png", 40 << 30)
    with open_source(str(tmp_path / "a.png")) as source, pytest.raises(SourceError):
        source.read()
    assert "more than 1073741824 bytes; skipped" in caplog.text
