"""Sinks that write: real files, written and read back by OpenCV."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
from fastcam_runtime.errors import SinkError
from fastcam_runtime.live.controls import Controls
from fastcam_runtime.sinks import Sink, Status, open_sink
from fastcam_runtime.sinks.video import VideoFile, fit
from support.videos import frames_of, rate_of
from support.waiting import until

GIB = 2**30


def opened(uri: str | Path, fps: float = 25.0) -> Sink:
    return open_sink(str(uri), fps=fps, controls=Controls(("overlay", "map")))


def picture(number: int, width: int = 64, height: int = 48) -> np.ndarray:
    return np.full((height, width, 3), (40, 120, number % 2 * 200), np.uint8)


def write(sink: Sink, pictures: int, width: int = 64, height: int = 48) -> None:
    for number in range(pictures):
        sink.write(picture(number, width, height), Status(number))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["out.mp4", "out.avi", "out.mkv", "deep/er/out.MP4"])
def test_video_has_every_picture_and_appears_whole(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with opened(path, fps=29.97) as sink:
        write(sink, 30)
        assert not path.exists()
        sink.close()
        content = path.read_bytes()
        sink.close()
    assert path.read_bytes() == content
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    frames = frames_of(path)
    assert len(frames) == 30
    assert rate_of(path) == pytest.approx(29.97)
    for number in (0, 29):
        assert np.abs(frames[number].mean(axis=(0, 1)) - picture(number)[0, 0]).max() < 12


@pytest.mark.slow
@pytest.mark.parametrize("fps", [0.5, 17.318723, 23.976023976, 66.1234567, 119.88011, 240.0])
@pytest.mark.parametrize("suffix", [".mp4", ".avi", ".mkv"])
def test_any_rate_can_be_recorded(tmp_path: Path, fps: float, suffix: str) -> None:
    if suffix == ".avi" and fps == 119.88011 and cv2.__version__ < "5":
        pytest.skip("this OpenCV writes 120 into an .avi file")
    with opened(tmp_path / f"out{suffix}", fps=fps) as sink:
        write(sink, 4)
    assert rate_of(tmp_path / f"out{suffix}") == pytest.approx(fps, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".mp4", ".avi", ".mkv"])
@pytest.mark.parametrize("size", [(65, 49), (64, 49), (1, 1), (321, 7)])
def test_odd_sizes_are_recorded_whole(tmp_path: Path, suffix: str, size: tuple[int, int]) -> None:
    with opened(tmp_path / f"out{suffix}") as sink:
        write(sink, 3, *size)
    frames = frames_of(tmp_path / f"out{suffix}")
    assert len(frames) == 3
    assert frames[0].shape == (size[1] + size[1] % 2, size[0] + size[0] % 2, 3)


def test_picture_of_another_shape_is_fitted_with_bars(tmp_path: Path) -> None:
    with opened(tmp_path / "out.avi") as sink:
        write(sink, 2)
        sink.write(np.full((200, 100, 3), 255, np.uint8), Status(2))
    assert [frame.shape for frame in frames_of(tmp_path / "out.avi")] == [(48, 64, 3)] * 3
    fitted = fit(np.full((200, 100, 3), 255, np.uint8), (64, 48))
    assert fitted[:, 20:44].min() == 255
    assert fitted[:, :20].max() == fitted[:, 44:].max() == 0


def test_existing_video_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "out.mp4"
    path.write_bytes(b"the old one")
    opened(path).close()
    assert path.read_bytes() == b"the old one"
    sink = opened(path)
    write(sink, 5)
    assert path.read_bytes() == b"the old one"
    sink.close()
    assert len(frames_of(path)) == 5


def test_recording_that_cannot_be_finished_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out.mp4"
    path.write_bytes(b"the old one")
    sink = opened(path)
    write(sink, 5)
    until(lambda: len(list(tmp_path.iterdir())) == 2, "no file was begun")
    (part,) = (entry for entry in tmp_path.iterdir() if entry != path)
    part.unlink()
    with pytest.raises(SinkError, match=r"out\.mp4: the recording could not be finished"):
        sink.close()
    sink.close()
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.mp4"]
    assert path.read_bytes() == b"the old one"


def test_recording_ends_before_the_disk_is_full_and_plays(tmp_path: Path) -> None:
    left = [GIB, GIB, GIB, 2**20]
    sink = VideoFile(tmp_path / "out.mp4", 25.0, free=lambda folder: left.pop(0))
    write(sink, 3)
    with pytest.raises(
        SinkError, match=r"out\.mp4: the disk is nearly full; recording ends after 3 pictures"
    ):
        write(sink, 1)
    sink.close()
    assert len(frames_of(tmp_path / "out.mp4")) == 3


@pytest.mark.parametrize(
    ("times", "frames"),
    [
        ([n / 8 for n in range(17)], 25 * 2 + 1),  # slower than the video: repeated
        ([n / 100 for n in range(201)], 25 * 2 + 1),  # faster: left out
        ([0, 0.04, 600, 600.04, 600.08], 5),  # ten minutes without a picture are cut out
        ([0, 0.04, 1.04, 1.08], 25 + 3),  # one second is filled
    ],
)
def test_live_recording_plays_as_fast_as_it_happened(tmp_path: Path, times: list[float], frames: int) -> None:
    # The clock is also read when the recording begins. Slightly late: 0.04 × 25 is not exactly 1.
    moments = iter([times[0], *(moment + 1e-6 for moment in times)])
    sink = VideoFile(tmp_path / "out.avi", 25.0, real_time=True, clock=lambda: next(moments))
    write(sink, len(times))
    sink.close()
    assert len(frames_of(tmp_path / "out.avi")) == frames


def test_live_recording_of_a_camera_that_declares_a_thousand_frames_a_second(tmp_path: Path) -> None:
    moments = iter([0.0, 0.0, 1.0])
    sink = VideoFile(tmp_path / "out.avi", 1000.0, real_time=True, clock=lambda: next(moments))
    write(sink, 2)
    sink.close()
    assert len(frames_of(tmp_path / "out.avi")) == 61
    assert rate_of(tmp_path / "out.avi") == 60


FILL_DISK = """
import subprocess, sys
from pathlib import Path
import cv2, numpy as np
from fastcam_runtime.live.controls import Controls
from fastcam_runtime.errors import SinkError
from fastcam_runtime.sinks import Status, open_sink

subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", sys.argv[1]], check=True)
noise = np.random.default_rng(0).integers(0, 256, (480, 640, 3), np.uint8)
path = Path(sys.argv[1]) / "out.mp4"
sink = open_sink(str(path), fps=25.0, controls=Controls(("overlay",)))
written = 0
try:
    while written < 1000:
        sink.write(np.roll(noise, 37 * written), Status(written))
        written += 1
except SinkError as error:
    print(error)
sink.close()
capture = cv2.VideoCapture(str(path))
read = 0
while capture.read()[0]:
    read += 1
print(written, read, sorted(entry.name for entry in path.parent.iterdir()))
try:
    open_sink(str(path.parent / "full"), fps=1, controls=Controls(("overlay",)))
except SinkError as error:
    print(error)
images = open_sink(str(path.parent / "%d.bmp"), fps=1, controls=Controls(("overlay",)))
try:
    while True:
        images.write(noise, Status(0))
except SinkError as error:
    print(error)
readable = all(cv2.imread(str(image)) is not None for image in path.parent.glob("*.bmp"))
print(readable, not list(path.parent.glob(".*")))
"""


@pytest.mark.slow
def test_full_disk(tmp_path: Path) -> None:
    """A separate file system of 12 MB, and a recording that does not fit."""
    inside = ["unshare", "--map-root-user", "--mount"]
    if shutil.which("unshare") is None or subprocess.run([*inside, "true"], capture_output=True).returncode:
        pytest.skip("no permission to mount a small file system")
    done = subprocess.run(
        [*inside, sys.executable, "-c", FILL_DISK, str(tmp_path)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    full, counts, _, images_full, images_good = done.stdout.splitlines()
    written = int(counts.split()[0])
    assert f"out.mp4: the disk is nearly full; recording ends after {written} pictures" in full
    assert 0 < written < 1000
    assert counts == f"{written} {written} ['out.mp4']"
    assert "No space left on device" in images_full
    assert images_good == "True True"
    assert done.stderr == ""


def test_numbered_images_and_folder(tmp_path: Path) -> None:
    with opened(tmp_path / "frames" / "shot-%04d.png") as sink:
        write(sink, 3)
    names = sorted(entry.name for entry in (tmp_path / "frames").iterdir())
    assert names == ["shot-0000.png", "shot-0001.png", "shot-0002.png"]
    assert np.array_equal(cv2.imread(str(tmp_path / "frames" / names[1])), picture(1))
    for folder in (f"{tmp_path}/new/", f"{tmp_path}/frames"):
        with opened(folder) as sink:
            write(sink, 2)
        assert (Path(folder) / "000001.jpg").is_file()


def test_a_folder_keeps_names_and_never_writes_over_its_own(tmp_path: Path) -> None:
    names = ["cat", "dog-1", "dog", "Dog", "dog", "cat", "100%", "dog-1"]
    kept = ["cat", "dog-1", "dog", "Dog-2", "dog-3", "cat-1", "100%", "dog-1-1"]
    for _ in range(2):  # a second run replaces what the first one wrote
        with opened(f"{tmp_path}/50%/") as sink:
            for number, name in enumerate(names):
                sink.write(picture(number), Status(number, name=name))
    files = {entry.name: cv2.imread(str(entry)) for entry in (tmp_path / "50%").iterdir()}
    assert sorted(files) == sorted(f"{name}.jpg" for name in kept)
    for number, name in enumerate(kept):
        assert np.abs(files[f"{name}.jpg"].astype(int) - picture(number)).max() < 12


def test_a_folder_takes_names_as_long_as_a_file_can_have(tmp_path: Path) -> None:
    names = ["n" * 251, "猫" * 83, "n" * 250 + "!"]  # 255 bytes at most, with an ending of four
    with opened(tmp_path) as sink:
        for number, name in enumerate(names):
            sink.write(picture(number), Status(number, name=name))
    written = sorted(entry.name for entry in tmp_path.iterdir())
    assert len(written) == 3
    assert all(entry.startswith(("n" * 200, "猫" * 66)) for entry in written)


def test_one_image_takes_one_picture(tmp_path: Path) -> None:
    with opened(tmp_path / "out.png") as sink:
        write(sink, 1)
        with pytest.raises(SinkError, match=r"out\.png: holds one picture.*out-%04d\.png"):
            write(sink, 1)
    assert list(tmp_path.iterdir()) == []
    with opened(tmp_path / "out.png") as sink:
        write(sink, 1)
    assert np.array_equal(cv2.imread(str(tmp_path / "out.png")), picture(0))


def test_null_takes_everything() -> None:
    with opened("null://") as sink:
        write(sink, 3)
        assert not sink.interactive


def test_errors_name_the_output_and_what_there_is(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    cases = {
        "": "is empty",
        f"{tmp_path}/out.txt": r"suffix '\.txt'; there are \.mp4, ",
        f"{tmp_path}/out": "suffix ''",
        f"{tmp_path}/%d-%d.png": "exactly one number",
        f"{tmp_path}/%s.png": "exactly one number",
        f"{tmp_path}/%0999999999999d.png": "exactly one number, of 99 digits at most",
        f"{tmp_path}/%04d.mp4": r"'\.mp4' is not one of \.bmp",
        f"{tmp_path}/file/out.mp4": "cannot create the folder .*: (Not a directory|File exists)",
        f"{tmp_path}/file/x/": "cannot create the folder",
        "displai://": "no such output; there are display://.*; closest: display",
        "rtsp://host": "no such output",
        ":8000": "write a live page as http://:8000$",
        "http:8000": "write a live page as http://:8000$",
        "http:/0.0.0.0:80": r"write a live page as http://0\.0\.0\.0:80$",
        "localhost:8000": "write a live page as http://localhost:8000$",
    }
    for uri, text in cases.items():
        with pytest.raises(SinkError, match=text) as caught:
            opened(uri)
        assert "\n" not in str(caught.value)
    sink = opened(tmp_path / "large.png")
    with pytest.raises(SinkError, match=r"large\.webp: OpenCV cannot write a \.webp of 20000x1"):
        opened(tmp_path / "large.webp").write(np.zeros((1, 20000, 3), np.uint8), Status(0))
    sink.close()
    assert capfd.readouterr().err == ""


@pytest.mark.skipif(os.geteuid() == 0, reason="everything is allowed to root")
def test_folder_without_permission(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(SinkError, match="no permission to write"):
        opened(tmp_path / "out.mp4")
