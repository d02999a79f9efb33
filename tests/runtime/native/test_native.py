"""Finding, registering and reporting the compiled kernels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
from fastcam_runtime import native
from fastcam_runtime.native import blending
from support.compiled import feed, node_model
from support.oracle import method


def test_the_status_is_one_line_for_people() -> None:
    assert len(native.status().splitlines()) == 1
    assert native.status().startswith("compiled kernels" if native.library_path() else "no compiled kernels")


@pytest.mark.skipif(native.library_path() is None, reason=native.status())
def test_registering_says_so() -> None:
    assert native.register(ort.SessionOptions())
    assert "fastcam_ops" in native.status()


@pytest.mark.skipif(native.library_path() is None, reason=native.status())
def test_a_program_of_its_own_can_use_the_kernels() -> None:
    """With `register`, or with onnxruntime's own function and `library_path`."""
    x = np.random.default_rng(0).random((1, 16, 5, 7), np.float32)
    model = node_model("SmoeScale", x, epsilon=1e-6)
    with pytest.raises(Exception, match="SmoeScale"):
        ort.InferenceSession(model, providers=["CPUExecutionProvider"])
    registered, loaded = ort.SessionOptions(), ort.SessionOptions()
    assert native.register(registered)
    loaded.register_custom_ops_library(str(native.library_path()))
    for options in (registered, loaded):
        session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        found = feed(session, x)
        np.testing.assert_allclose(found, method.smoe(x), rtol=1e-4, atol=1e-6)


def test_without_a_library_nothing_is_registered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(native, "_LIBRARY", tmp_path / "fastcam_ops.so")
    assert native.library_path() is None
    assert not native.register(ort.SessionOptions())
    assert native.status().startswith("no compiled kernels: fastcam_ops.so is missing; installing")
    assert blending.load.__wrapped__() is None


def test_a_library_that_does_not_load_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "fastcam_ops.so"
    broken.write_bytes(b"not a library")
    monkeypatch.setattr(native, "_LIBRARY", broken)
    monkeypatch.setattr(native, "_refusal", None)
    assert "does not load them" in native.status()  # it was tried for this call at the latest
    assert native.operators() == frozenset()
    assert not native.usable()
    options = ort.SessionOptions()
    assert not native.register(options)
    assert ort.__version__ in native.status()
    assert len(native.status().splitlines()) == 1
    assert blending.load.__wrapped__() is None


@pytest.mark.skipif(blending.load() is None, reason=native.status())
@pytest.mark.parametrize(
    "wrong",
    [
        {"frame": np.zeros((5, 6, 3), np.uint8)},
        {"frame": np.zeros((5, 7, 4), np.uint8)},
        {"frame": np.zeros((5, 7, 3), np.float32)},
        {"levels": np.zeros((6, 7), np.uint8)},
        {"levels": np.zeros((5, 7), np.int32)},
        {"levels": np.zeros((7, 5), np.uint8).T},
        {"levels": np.zeros((4, 7), np.uint8)},
        {"levels": np.zeros((0, 7), np.uint8)},
        {"table": np.zeros((255, 4), np.uint8)},
        {"picture": np.zeros((4, 7, 3), np.uint8)},
        {"picture": np.zeros((5, 7, 4), np.uint8)[..., :3]},
    ],
)
def test_what_cannot_be_blended_is_refused(wrong: dict[str, np.ndarray]) -> None:
    fitting = {
        "frame": np.zeros((5, 7, 3), np.uint8),
        "levels": np.zeros((5, 7), np.uint8),
        "table": np.zeros((256, 4), np.uint8),
        "picture": np.ones((5, 7, 3), np.uint8),
    }
    blend_levels = blending.load()
    assert blend_levels is not None
    blend_levels(**fitting)
    assert not fitting["picture"].any()
    with pytest.raises(ValueError, match="do not match"):
        blend_levels(**fitting | wrong)
