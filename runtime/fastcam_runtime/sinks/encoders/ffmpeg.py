"""Recording through a pipe to the program `ffmpeg`, which has encoders that OpenCV lacks."""

from __future__ import annotations

import functools
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...errors import SinkError
from ...image import Image
from .base import Encoder
from .containers import SAFE_OPTIONS, make_ordinary
from .opencv import plays

_FINISH_SECONDS = 60
"""How long `ffmpeg` may take to finish a file."""
_TRIAL_SECONDS = 20
_TRIAL_SIZE = (64, 64)
_trials = threading.Lock()
"""Held during a trial: who asks meanwhile waits for its answer instead of making one as well."""


@dataclass(frozen=True)
class FfmpegCodec:
    """An encoder of `ffmpeg`, and how it is used."""

    name: str
    """What it writes, in words."""
    options: tuple[str, ...]
    fastest: float = 1000.0
    """The highest frame rate that it can write; pictures of a faster video are dropped."""
    hardware: bool = False
    """It may work for some sizes of the picture only."""


# Every player takes 4:2:0. The matrix is the one that players assume for small pictures; it is also written
# into the file, because they assume another one for large pictures.
_PIXELS = (
    *("-vf", "scale=out_color_matrix=bt601:out_range=tv,format=yuv420p"),
    *("-colorspace", "smpte170m", "-color_primaries", "bt709", "-color_trc", "bt709", "-color_range", "tv"),
)
H264 = (
    FfmpegCodec(
        "H.264 (libx264)",
        ("-c:v", "libx264", "-preset", "veryfast", "-crf", "23", "-threads", "2", *_PIXELS),
    ),
    FfmpegCodec("H.264 (libopenh264)", ("-c:v", "libopenh264", "-b:v", "4M", "-profile:v", "main", *_PIXELS)),
    FfmpegCodec("H.264 (h264_v4l2m2m)", ("-c:v", "h264_v4l2m2m", "-b:v", "4M", *_PIXELS), hardware=True),
    FfmpegCodec(
        "H.264 (h264_videotoolbox)", ("-c:v", "h264_videotoolbox", "-b:v", "4M", *_PIXELS), hardware=True
    ),
)
"""The encoder in software comes first: it keeps the quality, where hardware keeps the bit rate."""
VP8 = (
    FfmpegCodec(
        "VP8 (libvpx)",
        (
            *("-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "5", "-threads", "2"),
            *("-crf", "12", "-b:v", "8M", *_PIXELS),
        ),
    ),
)
GIF = (
    FfmpegCodec(
        "GIF",
        (
            *("-filter_complex", "split[a][b];[a]palettegen=stats_mode=single[p];[b][p]paletteuse=new=1"),
            *("-c:v", "gif"),
        ),
        fastest=50.0,  # browsers slow faster ones down to 10 per second
    ),
)


class FfmpegPipe(Encoder):
    """A file that `ffmpeg` writes.

    `ffmpeg` does not get the signals that end this program; it ends when the pipe is closed. So it finishes
    the recording even if this program is killed. If both are killed, the file plays up to the last second.
    """

    def __init__(
        self, program: str, codec: FfmpegCodec, path: Path, fps: float, size: tuple[int, int]
    ) -> None:
        self.codec = codec.name
        self._program = program
        self._path = path
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `close`)
        with _blocked_signals():
            self._process = subprocess.Popen(
                _command(program, codec, str(path.absolute()), fps, size),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
            )

    def write(self, picture: Image) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(np.ascontiguousarray(picture).data)
        except (BrokenPipeError, ValueError) as error:  # ValueError: the pipe was closed by an earlier one
            raise SinkError(f"ffmpeg ended: {self._last_words()}") from error

    def close(self) -> bool:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # ffmpeg ended before; what it wrote may be playable
            self._process.stdin.close()
        try:
            self._process.wait(_FINISH_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.close()
        make_ordinary(self._program, self._path)
        return plays(self._path)

    def _last_words(self) -> str:
        self._process.wait(_FINISH_SECONDS)
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "it gave no reason")


def open_pipe(
    codecs: tuple[FfmpegCodec, ...], path: Path, fps: float, size: tuple[int, int]
) -> Encoder | None:
    """The first codec that works here for such a video; None without `ffmpeg` or if none works."""
    program = shutil.which("ffmpeg")
    if program is None:
        return None
    for codec in codecs:
        with _trials:
            works = _works(program, codec, path.suffix, fps, size if codec.hardware else _TRIAL_SIZE)
        if works:
            return FfmpegPipe(program, codec, path, fps, size)
    return None


def try_beside(codecs: tuple[FfmpegCodec, ...], suffix: str, fps: float) -> None:
    """Find out in a thread which codec works, so that the first picture does not wait for it."""
    program = shutil.which("ffmpeg")
    if program is None or not codecs:
        return

    def find() -> None:
        with _trials:
            for codec in codecs:
                if codec.hardware or _works(program, codec, suffix, fps, _TRIAL_SIZE):
                    return

    threading.Thread(target=find, name="fastcam-ffmpeg", daemon=True).start()


@functools.lru_cache(maxsize=32)
def _works(program: str, codec: FfmpegCodec, suffix: str, fps: float, size: tuple[int, int]) -> bool:
    """Whether a video of two black pictures can be made. An encoder may be listed, but lack its device."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                _command(program, codec, str(Path(folder) / f"trial{suffix}"), fps, size),
                input=bytes(2 * 3 * size[0] * size[1]),
                capture_output=True,
                timeout=_TRIAL_SECONDS,
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
    return done.returncode == 0


def _command(program: str, codec: FfmpegCodec, target: str, fps: float, size: tuple[int, int]) -> list[str]:
    return [
        *(program, "-nostdin", "-hide_banner", "-loglevel", "error", "-y"),
        *("-f", "rawvideo", "-pix_fmt", "bgr24", "-video_size", f"{size[0]}x{size[1]}"),
        *("-r", f"{fps:.10g}", "-i", "pipe:0", "-an"),  # -framerate would round 119.88 to 120
        *codec.options,
        *("-flush_packets", "1"),  # so that the size on disk is up to date
        *SAFE_OPTIONS.get(Path(target).suffix.lower(), ()),
        *(("-r", f"{codec.fastest:g}") if fps > codec.fastest else ()),
        f"file:{target}",  # without the protocol, `12:30.mp4` would be a URL
    ]


@contextmanager
def _blocked_signals() -> Iterator[None]:
    """Block the signals that end a program; a process started meanwhile keeps them blocked."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
