"""Our aarch64 wheel on an emulated board with the real aarch64 packages: the same maps as on this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
from fastcam_export import export
from fastcam_models import default_model
from fastcam_runtime.model.session import open_session
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
        pytest.skip("FASTCAM_ARM_BOARD is not set: making the board takes minutes and 2 GB")
    path = os.environ["PATH"] + ":/usr/sbin"
    missing = [tool for tool in TOOLS if shutil.which(tool, path=path) is None]
    if missing:
        pytest.skip(f"no {missing[0]} here")
    dist = tmp_path_factory.mktemp("dist")
    environment = {**os.environ, "PYTHON": sys.executable}
    subprocess.run([ROOT / ".ci/wheels", dist], check=True, env=environment, capture_output=True)
    (wheel,) = dist.glob("*_aarch64.whl")
    on_board("install", str(wheel))


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


def test_run_writes_a_video(tmp_path: Path) -> None:
    model, video = tmp_path / "model.onnx", tmp_path / "out.mp4"
    export(MODELS["float32"], model)
    on_board("python3", "-m", "fastcam_runtime", "inspect", str(model))
    on_board("python3", "-m", "fastcam_runtime", "run", str(model), "test://", str(video), "--frames", "3")
    assert video.stat().st_size > 1000
