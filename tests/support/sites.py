"""Sites of `fastcam web` in tests: a fake of onnxruntime-web, and the browser's flags for a camera."""

from __future__ import annotations

from pathlib import Path

from fastcam_runtime.web.ort_web import WASM_FILES, WEBGPU_FILES

from support.chromium import Tab

FAKE_CAMERA = "--use-fake-device-for-media-stream"
GRANTED = "--use-fake-ui-for-media-stream"


def fake_ort(folder: Path, *, webgpu: bool = False) -> Path:
    """A folder that looks like onnxruntime-web if it is only copied."""
    folder.mkdir()
    for name in (*WASM_FILES, *(WEBGPU_FILES if webgpu else ())):
        (folder / name).write_bytes(name.encode() * 100)
    return folder


def wait_ready(tab: Tab) -> None:
    """The page has loaded its network."""
    tab.wait("document.body?.dataset.ready", 180)
