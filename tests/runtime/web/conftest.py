"""Sites in a real browser, with its fake camera fed by real pictures."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import onnx
import pytest
from fastcam_models import default_model
from fastcam_runtime.web.server import SiteServer
from fastcam_runtime.web.site import write_site
from support.chromium import Chromium, find_chromium
from support.node import ort_web
from support.tiny_grafts import save_graft

CHELSEA = Path(__file__).parents[3] / "runtime/fastcam_runtime/sources/clip/chelsea.jpg"


@pytest.fixture(scope="session")
def cat_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with the default model."""
    if find_chromium() is None:
        pytest.skip("no Chromium to open the page in")
    pytest.importorskip("onnx_ir")
    from fastcam_export import graft

    folder = tmp_path_factory.mktemp("cat")
    model = folder / "efficientnet.onnx"
    onnx.save(graft(default_model(), outputs=("saliency_map", "lovi", "cam", "fastcam")), model)
    write_site(model, folder / "site", ort_web(), webgpu=False)
    return folder / "site"


@pytest.fixture(scope="session")
def tiny_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with a tiny network."""
    if find_chromium() is None:
        pytest.skip("no Chromium to open the page in")
    folder = tmp_path_factory.mktemp("tiny")
    model = save_graft(folder / "tiny.onnx", size=(112, 112))
    write_site(model, folder / "site", ort_web(), webgpu=False)
    return folder / "site"


@pytest.fixture(scope="session")
def cat_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clip of a cat for the fake camera."""
    return make_clip(tmp_path_factory.mktemp("clip") / "cat.mjpeg", "640:480")


@pytest.fixture(scope="session")
def small_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same clip with a sixteenth of the pixels, for many frames in little time."""
    return make_clip(tmp_path_factory.mktemp("clip") / "small.mjpeg", "160:120")


def make_clip(clip: Path, size: str) -> Path:
    ffmpeg = shutil.which("ffmpeg")
    if ffmpeg is None:
        pytest.skip("no ffmpeg to make a clip for the fake camera with")
    fit = f"scale={size}:force_original_aspect_ratio=increase,crop={size},fps=60"
    command = [ffmpeg, "-v", "error", "-loop", "1", "-i", str(CHELSEA), "-t", "1", "-vf", fit, "-q:v", "2"]
    subprocess.run([*command, str(clip)], check=True, timeout=120)
    return clip


@pytest.fixture
def serve() -> Iterator[Callable[[Path], SiteServer]]:
    """Serve sites until the test ends, without the headers that threads need, as most servers do."""
    servers: list[SiteServer] = []

    def start(folder: Path) -> SiteServer:
        servers.append(SiteServer(folder, isolated=False))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def browse(tmp_path: Path) -> Iterator[Callable[..., Chromium]]:
    """Browsers with flags of their own, until the test ends."""
    browsers: list[Chromium] = []

    def start(*flags: str) -> Chromium:
        browsers.append(Chromium(tmp_path / f"profile{len(browsers)}", *flags))
        return browsers[-1]

    yield start
    for browser in browsers:
        browser.close()
