"""Opening sessions: if an accelerator does not start, the CPU runs everything, with the compiled kernels."""

from __future__ import annotations

from pathlib import Path

import onnx
import onnxruntime as ort
import pytest
from fastcam_export import graft
from fastcam_runtime import ModelError, native
from fastcam_runtime.cli.main import main
from fastcam_runtime.model.file import summarize_file
from fastcam_runtime.model.session import describe, open_session
from support.networks import small_cnn

CPU = "CPUExecutionProvider"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    onnx.save(graft(small_cnn()), path)
    return path


@pytest.mark.skipif(native.library_path() is None, reason=native.status())
@pytest.mark.parametrize("wanted", [True, False])
def test_a_cpu_that_steps_in_has_its_kernels(
    model: Path, wanted: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """This onnxruntime has no CUDA; a CUDA build on a machine without CUDA behaves the same."""
    monkeypatch.setattr(ort, "get_available_providers", lambda: ["CUDAExecutionProvider", CPU])
    registered: list[bool] = []
    register = native.register
    monkeypatch.setattr(
        native, "register", lambda options: registered.append(register(options)) or registered[-1]
    )
    with pytest.warns(UserWarning, match="CUDAExecutionProvider"):  # by onnxruntime itself
        session = open_session(model, provider="cuda", compiled=wanted)
    assert session.get_providers() == [CPU]
    assert registered == ([True] if wanted else [])
    assert (
        "compiled kernels (" in describe(session, model, summarize_file(model), compiled=wanted)
    ) == wanted
    assert "cuda did not start; the CPU runs instead" in caplog.text


def test_weights_that_were_left_behind(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    onnx.save(onnx.load(model), model, save_as_external_data=True, location="model.data", size_threshold=64)
    open_session(model)
    main(["inspect", str(model)])
    (model.parent / "model.data").unlink()
    with pytest.raises(ModelError, match=r"keeps weights in model\.data, which is not beside it; copy"):
        open_session(model)
    main(["inspect", str(model)])
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("weights")]
    assert told == [
        "weights     in model.data, needed beside it",
        "weights     in model.data (NOT THERE), needed beside it",
    ]
