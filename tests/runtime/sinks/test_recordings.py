"""Recordings in other programs: played by a real browser, read by ffprobe and Pillow."""

from __future__ import annotations

import functools
import json
import logging
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastcam_runtime.cli.main import main
from fastcam_runtime.errors import SinkError
from fastcam_runtime.sinks import Status
from fastcam_runtime.sinks.kept_folder import KeptFolder
from fastcam_runtime.sinks.video import VideoFile
from support.chromium import Chromium, find_chromium
from support.killed_recording import record_and_kill
from support.paging import Loop
from support.processes import fastcam
from support.tiny_grafts import save_graft
from support.videos import frames_of
from support.waiting import until

COLOURS = ((200, 40, 30), (30, 40, 200))
"""Blue-green-red; the first and the second half of a recording."""
needs_ffmpeg = pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="no ffmpeg on the PATH")


def record(path: Path, pictures: int = 40, size: tuple[int, int] = (160, 120), fps: float = 20.0) -> None:
    with VideoFile(path, fps) as sink:
        for number in range(pictures):
            colour = COLOURS[2 * number // pictures]
            sink.write(np.full((size[1], size[0], 3), colour, np.uint8), Status(number))


def without_ffmpeg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")


def codec_of(path: Path) -> str:
    """The codec as ffprobe calls it."""
    command = ["ffprobe", "-v", "error", "-show_entries", "stream=codec_name", "-of", "csv=p=0", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.slow
@needs_ffmpeg
@pytest.mark.parametrize(
    ("name", "codec", "told"),
    [
        ("out.mp4", "h264", "H.264 (libx264)"),
        ("out.mov", "h264", "H.264 (libx264)"),
        ("out.mkv", "h264", "H.264 (libx264)"),
        ("out.webm", "vp8", "VP8 (libvpx)"),
        ("out.avi", "mjpeg", "Motion JPEG (OpenCV)"),
        ("out.gif", "gif", "GIF"),
    ],
)
def test_the_codec_that_is_told_is_in_the_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, codec: str, told: str
) -> None:
    with caplog.at_level(logging.INFO, "fastcam_runtime"):
        record(tmp_path / name)
    assert codec_of(tmp_path / name) == codec
    assert caplog.messages == [f"{tmp_path / name}: {told}"]


@needs_ffmpeg
@pytest.mark.parametrize(
    ("name", "codec", "told"),
    [
        (
            "out.mp4",
            "mpeg4",
            "MPEG-4 Part 2 (OpenCV); browsers and most phones do not play it: install ffmpeg",
        ),
        ("out.webm", "vp8", "VP8 (OpenCV)"),
    ],
)
def test_without_ffmpeg_opencv_records(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    codec: str,
    told: str,
) -> None:
    with monkeypatch.context() as patched, caplog.at_level(logging.INFO, "fastcam_runtime"):
        without_ffmpeg(patched)
        record(tmp_path / name)
    assert codec_of(tmp_path / name) == codec
    assert told in caplog.text


def test_gif_without_ffmpeg_names_what_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_ffmpeg(monkeypatch)
    with pytest.raises(SinkError, match=r"out\.gif: there is no ffmpeg that can record .*\.webp"):
        record(tmp_path / "out.gif")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", [(64, 48), (65, 49), (1, 1)])
def test_animated_webp_is_read_by_another_library(tmp_path: Path, size: tuple[int, int]) -> None:
    images = pytest.importorskip("PIL.Image")
    record(tmp_path / "out.webp", pictures=7, size=size, fps=30.0)
    with images.open(tmp_path / "out.webp") as animation:
        assert (animation.size, animation.n_frames, animation.is_animated) == (size, 7, True)
        assert animation.info["loop"] == 0
        lengths = []
        for number in range(7):
            animation.seek(number)
            animation.load()
            lengths.append(animation.info["duration"])
            pixel = np.array(animation.convert("RGB"))[size[1] // 2, size[0] // 2, ::-1]
            assert np.abs(pixel.astype(int) - COLOURS[2 * number // 7]).max() < 12
    assert sum(lengths) == round(7e3 / 30)


def test_webp_of_one_picture_is_that_picture(tmp_path: Path) -> None:
    images = pytest.importorskip("PIL.Image")
    noise = np.random.default_rng(0).integers(0, 256, (33, 41, 3), np.uint8)
    with VideoFile(tmp_path / "out.webp", 20.0) as sink:
        sink.write(noise, Status(0))
    with images.open(tmp_path / "out.webp") as still:
        assert not getattr(still, "is_animated", False)
        assert np.array_equal(np.array(still.convert("RGB"))[:, :, ::-1], noise)


def write_all(sink: VideoFile, picture: np.ndarray) -> None:
    for number in range(50):
        sink.write(np.roll(picture, 37 * number), Status(number))


@pytest.mark.slow
@needs_ffmpeg
def test_ffmpeg_that_ends_is_told_and_keeps_what_it_wrote(tmp_path: Path) -> None:
    sink = VideoFile(tmp_path / "out.mp4", 25.0)
    noise = np.random.default_rng(0).integers(0, 256, (480, 640, 3), np.uint8)
    write_all(sink, noise)
    process: subprocess.Popen[bytes] = sink._encoder._process  # type: ignore[union-attr,attr-defined]
    process.kill()
    with pytest.raises(SinkError, match=r"out\.mp4: ffmpeg ended: it gave no reason; \d+ pictures were"):
        write_all(sink, noise)
    sink.close()
    assert list(tmp_path.iterdir()) == [tmp_path / "out.mp4"]
    assert len(frames_of(tmp_path / "out.mp4")) > 10


class Quiet(SimpleHTTPRequestHandler):
    """A plain web server; it cannot send part of a file."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """The address of `tmp_path`. A page of a local server may use all of the browser."""
    (tmp_path / "index.html").write_text("<!doctype html><video muted></video>")
    handler = functools.partial(Quiet, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    if find_chromium() is None:
        pytest.skip("no Chromium to play recordings in")
    browser = Chromium(
        tmp_path_factory.mktemp("chromium") / "profile", "--autoplay-policy=no-user-gesture-required"
    )
    yield browser
    browser.close()


PLAY = """(async () => {
    const video = document.querySelector("video"), colours = [];
    const look = () => {
        const canvas = new OffscreenCanvas(video.videoWidth, video.videoHeight);
        const context = canvas.getContext("2d");
        context.drawImage(video, 0, 0);
        const middle = context.getImageData(canvas.width / 2, canvas.height / 2, 1, 1).data;
        colours.push([middle[2], middle[1], middle[0]]);
    };
    video.src = NAME;
    video.addEventListener("loadeddata", look, {once: true});
    try { await video.play(); } catch (error) { return {error: error.name}; }
    const first = video.currentTime;
    for (let tries = 0; tries < 200 && !video.ended; tries++)
        await new Promise((resolve) => setTimeout(resolve, 50));
    look();
    return {advanced: video.currentTime - first, duration: video.duration,
        width: video.videoWidth, height: video.videoHeight, colours};
})()"""
"""Play a video, and look at its first and last frame. It stops after ten seconds."""


def play(chromium: Chromium, url: str, name: str) -> dict[str, Any]:
    tab = chromium.open(url)
    tab.wait("document.querySelector('video')")
    return dict(tab.evaluate(PLAY.replace("NAME", repr(name))))


@pytest.mark.browser
@needs_ffmpeg
@pytest.mark.parametrize(
    ("name", "size"),
    [("out.mp4", (160, 120)), ("out.mp4", (1280, 720)), ("out.webm", (160, 120)), ("out.webm", (1280, 720))],
)
def test_a_browser_plays_the_recording_in_its_colours(
    tmp_path: Path, site: str, chromium: Chromium, name: str, size: tuple[int, int]
) -> None:
    record(tmp_path / name, size=size)
    seen = play(chromium, site, name)
    assert seen["advanced"] > 0.3
    assert seen["duration"] == pytest.approx(2.0, abs=0.11)
    assert (seen["width"], seen["height"]) == size
    assert np.abs(np.array(seen["colours"]) - COLOURS).max() < 12


@pytest.mark.browser
def test_a_browser_plays_webm_without_ffmpeg(
    tmp_path: Path, site: str, chromium: Chromium, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        without_ffmpeg(patched)
        record(tmp_path / "out.webm")
        record(tmp_path / "out.mp4")
    assert play(chromium, site, "out.webm")["advanced"] > 0.3
    assert play(chromium, site, "out.mp4") == {"error": "NotSupportedError"}  # as the log says


@pytest.mark.browser
@pytest.mark.slow
@needs_ffmpeg
@pytest.mark.parametrize("name", ["out.mp4", "out.webm"])
def test_a_browser_plays_a_recording_that_sigterm_ended(
    tmp_path: Path, site: str, chromium: Chromium, name: str
) -> None:
    graft = save_graft(tmp_path / "graft.onnx", size=(64, 96))
    out = tmp_path / name
    source = "test://?size=320x240&fps=25"
    with fastcam("run", graft, source, out, "--fps", "25", "--loop", "--threads", "1") as process:
        until(lambda: any(part.stat().st_size > 60_000 for part in tmp_path.glob(f".*{out.suffix}")))
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 0, errors
    assert f"{out}: " in errors  # which codec
    assert len(frames_of(out)) > 10
    assert play(chromium, site, name)["advanced"] > 0.3


@pytest.mark.browser
@needs_ffmpeg
def test_a_browser_plays_what_the_button_of_the_page_recorded(
    tmp_path: Path, site: str, chromium: Chromium
) -> None:
    folder = KeptFolder(tmp_path, megabytes=50)
    loop = Loop(kept=folder)

    def recorder() -> dict[str, Any]:
        return dict(json.loads(loop.request("GET", "/status")[1])["recorder"])

    try:
        assert loop.control('{"recording": true}')[0] == 200
        until(lambda: recorder()["seconds"] > 1)
        assert loop.control('{"recording": false}')[0] == 200
        until(lambda: not recorder()["recording"])
    finally:
        loop.close()
    (kept,) = folder.kept()
    seen = play(chromium, site, kept.name)
    assert seen["advanced"] > 0.3
    assert (seen["width"], seen["height"]) == (640, 480)


@pytest.mark.browser
@needs_ffmpeg
@pytest.mark.parametrize("name", ["out.mp4", "out.webm"])
def test_a_browser_plays_what_a_kill_left(tmp_path: Path, site: str, chromium: Chromium, name: str) -> None:
    part = record_and_kill(tmp_path / name)
    (tmp_path / f"part{part.suffix}").write_bytes(part.read_bytes())
    assert play(chromium, site, f"part{part.suffix}")["advanced"] > 0.3
    assert main(["recover", str(part)]) == 0
    seen = play(chromium, site, name)
    assert seen["advanced"] > 0.3
    assert seen["duration"] == pytest.approx(len(frames_of(tmp_path / name)) / 25, abs=0.2)


DECODE = """(async () => {
    const content = await fetch(NAME);
    const decoder = new ImageDecoder({data: content.body, type: content.headers.get("Content-Type")});
    await decoder.tracks.ready;
    await decoder.completed;
    const track = decoder.tracks.selectedTrack;
    const {image} = await decoder.decode({frameIndex: track.frameCount - 1});
    return {frames: track.frameCount, animated: track.animated, width: image.displayWidth, repeats:
        track.repetitionCount === Infinity};
})()"""


@pytest.mark.browser
@needs_ffmpeg
@pytest.mark.parametrize("name", ["out.gif", "out.webp"])
def test_a_browser_shows_the_animation(tmp_path: Path, site: str, chromium: Chromium, name: str) -> None:
    record(tmp_path / name, pictures=10, size=(65, 49))
    tab = chromium.open(site)
    tab.wait("document.querySelector('video')")
    seen = tab.evaluate(DECODE.replace("NAME", repr(name)))
    assert seen == {"frames": 10, "animated": True, "width": 65, "repeats": True}
