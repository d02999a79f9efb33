"""Our aarch64 wheel on an emulated board with the real aarch64 packages: the same maps as on this machine."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import cv2
import numpy as np
import pytest
from fastcam_export import export
from fastcam_models import default_model
from fastcam_runtime.model.session import open_session
from support.networks import small_cnn
from support.paths import ROOT
from support.shared_data import SHARED

pytestmark = pytest.mark.arm

BOARD = str(ROOT / ".ci/arm-board")
TOOLS = ("debootstrap", "proot", "qemu-aarch64-static", "aarch64-linux-gnu-gcc", "x86_64-linux-gnu-gcc")
MODELS = {
    "float32": Path(str(default_model())),
    "int8": SHARED / "models/mobilenet_v2-int8-qdq.onnx",
}
RUN = """
import sys, numpy
from pathlib import Path
from fastcam_runtime.model.session import open_session
model, tensor, out = sys.argv[1:]
maps = []
for compiled in (True, False):
    session = open_session(Path(model), threads=1, provider="cpu", compiled=compiled)
    maps.append(session.run(["saliency_map"], {session.get_inputs()[0].name: numpy.load(tensor)})[0])
numpy.save(out, maps)
"""
"""Writes the map of a tensor, from the compiled kernels and from standard operators."""


def on_board(*words: str) -> str:
    """What a command prints there; tried again if the emulator itself crashed."""
    for attempt in (1, 2):
        done = subprocess.run([BOARD, *words], capture_output=True, text=True, timeout=600)
        if done.returncode == 0:
            return done.stdout
        if done.returncode > 0 and attempt == 2:
            break
    raise AssertionError(done.stderr or done.returncode)


@pytest.fixture(scope="module", autouse=True)
def _board(tmp_path_factory: pytest.TempPathFactory) -> None:
    if "FASTCAM_ARM_BOARD" not in os.environ:
        pytest.skip("FASTCAM_ARM_BOARD is not set: making the board takes minutes and 0.7 GB")
    path = os.environ["PATH"] + ":/usr/sbin"
    missing = [tool for tool in TOOLS if shutil.which(tool, path=path) is None]
    if missing:
        pytest.skip(f"no {missing[0]} here")
    # All workers of a run share one board: the first one builds the wheel and installs it.
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    installed = tmp_path_factory.getbasetemp().parent / f"board-{run}"
    with installed.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not installed.exists():
            dist = tmp_path_factory.mktemp("dist")
            environment = {**os.environ, "PYTHON": sys.executable}
            subprocess.run([ROOT / ".ci/wheels", dist], check=True, env=environment, capture_output=True)
            (wheel,) = dist.glob("*_aarch64.whl")
            on_board("install", str(wheel))
            installed.touch()


def test_kernels_of_the_wheel_are_used() -> None:
    assert on_board("python3", "-m", "fastcam_runtime", "--version").splitlines()[1] == (
        "compiled kernels (fastcam_ops.so)"
    )


@pytest.mark.parametrize("kind", MODELS)
def test_maps_of_kernels_are_those_of_standard_operators(kind: str, tmp_path: Path) -> None:
    """Not from a frame: OpenCV resizes differently there by a last digit. Only float32 networks are compared
    with this machine: x86 processors without VNNI overflow in int8 networks, ARM does not."""
    if not MODELS[kind].exists():
        pytest.skip(f"{MODELS[kind].name} is not beside the checkout")
    model, tensor, out = tmp_path / "model.onnx", tmp_path / "tensor.npy", tmp_path / "maps.npy"
    image = export(MODELS[kind], model).metadata.image
    coarse = np.random.default_rng(0).random((9, 9, 3), np.float32) * 4 - 2
    picture = cv2.resize(coarse, (image.width, image.height), interpolation=cv2.INTER_CUBIC)
    x = np.ascontiguousarray(picture.transpose(2, 0, 1)[None])
    np.save(tensor, x)
    on_board("python3", "-c", RUN, str(model), str(tensor), str(out))
    compiled, standard = np.load(out)
    assert np.ptp(compiled) > 0.1
    assert np.abs(compiled - standard).max() <= 1e-5
    if kind == "float32":
        session = open_session(model, threads=1, provider="cpu")
        assert np.abs(compiled - session.run(["saliency_map"], {image.name: x})[0]).max() <= 1e-4


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For what takes many frames: an emulated one of a real network takes seconds."""
    model = tmp_path_factory.mktemp("small") / "model.onnx"
    export(small_cnn(), model)
    return model


@pytest.fixture(scope="module")
def grafted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = tmp_path_factory.mktemp("grafted") / "model.onnx"
    export(MODELS["float32"], model)
    return model


def fastcam(*words: str) -> str:
    return on_board("python3", "-m", "fastcam_runtime", *words)


def test_run_writes_a_video_and_the_second_start_uses_the_cache(grafted: Path, tmp_path: Path) -> None:
    assert "is grafted" in fastcam("inspect", str(grafted))
    for name in ("first.mp4", "second.mp4"):
        fastcam("run", str(grafted), "test://", str(tmp_path / name), "--frames", "2", "--threads", "1")
        assert (tmp_path / name).stat().st_size > 1000
    assert str(grafted) in fastcam("cache", "list")


def test_bench_measures(small: Path) -> None:
    told = fastcam("bench", str(small), "--rounds", "6", "--threads", "1")
    assert "maps cost" in told
    assert "compiled kernels (fastcam_ops.so)" in told


def test_live_page_shows_a_frame(small: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [BOARD, "python3", "-m", "fastcam_runtime", "run", str(small), "test://"]
    page = subprocess.Popen([*command, f"http://127.0.0.1:{port}", "--threads", "1"], start_new_session=True)
    try:
        deadline = time.monotonic() + 300
        while True:
            assert page.poll() is None, "it ended"
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/snapshot.jpg", timeout=20) as answer:
                    picture = answer.read()
                break
            except OSError:  # not there yet, or no frame yet
                assert time.monotonic() < deadline, "no frame within five minutes"
                time.sleep(1)
        assert cv2.imdecode(np.frombuffer(picture, np.uint8), cv2.IMREAD_COLOR) is not None
    finally:
        os.killpg(page.pid, signal.SIGKILL)
        page.wait()
