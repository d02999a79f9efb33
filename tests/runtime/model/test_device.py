"""Why a prepared file does not run here, in one line each."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastcam_runtime import native
from fastcam_runtime.model import device as preparation

ELSEWHERE = "onnxruntime 0.1 on an abacus"


@pytest.mark.parametrize("prepared", ["", ELSEWHERE])
def test_only_prepared_files_are_refused(prepared: str) -> None:
    assert bool(preparation.refusal(prepared, compiled=True, provider_is_cpu=False)) == bool(prepared)
    assert bool(preparation.refusal(prepared, compiled=False, provider_is_cpu=True)) == bool(prepared)


@pytest.mark.skipif(native.library_path() is None, reason=native.status())
def test_the_device_is_compared() -> None:
    assert preparation.refusal(preparation.here(), compiled=True, provider_is_cpu=True) == ""
    refusal = preparation.refusal(ELSEWHERE, compiled=True, provider_is_cpu=True)
    assert refusal.startswith(f"prepared for {ELSEWHERE}, this is {preparation.here()}; make it again on ")


@pytest.mark.parametrize(
    ("content", "why"), [(None, "fastcam_ops.so is missing"), (b"junk", "does not load them: ")]
)
def test_without_kernels_that_is_the_reason(
    content: bytes | None, why: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    library = tmp_path / "fastcam_ops.so"
    if content is not None:
        library.write_bytes(content)
    monkeypatch.setattr(native, "_LIBRARY", library)
    monkeypatch.setattr(native, "_refusal", None)
    refusal = preparation.refusal(ELSEWHERE, compiled=True, provider_is_cpu=True)
    assert refusal.startswith("prepared for compiled kernels; no compiled kernels: ")
    assert why in refusal
