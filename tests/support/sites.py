"""Stand-ins for onnxruntime-web, for tests of the site that run no network."""

from __future__ import annotations

from pathlib import Path

from fastcam_runtime.web.ort_web import WASM_FILES, WEBGPU_FILES


def fake_ort(folder: Path, *, webgpu: bool = False) -> Path:
    """A folder that looks like onnxruntime-web to whoever only copies it."""
    folder.mkdir()
    for name in (*WASM_FILES, *(WEBGPU_FILES if webgpu else ())):
        (folder / name).write_bytes(name.encode() * 100)
    return folder
