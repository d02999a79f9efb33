"""Torch modules and names of them."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
from fastcam_export import LoadError, graft
from fastcam_runtime.cli import main

torch = pytest.importorskip("torch")


def tiny() -> torch.nn.Module:  # type: ignore[name-defined]
    """Named `test_load_torch:tiny` on the command line."""
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, stride=2), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
        torch.nn.Conv2d(8, 8, 3, stride=2), torch.nn.SiLU(), torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(), torch.nn.Dropout(), torch.nn.Linear(8, 5),
    )  # fmt: skip


def not_a_module() -> int:
    return 3


def failing() -> torch.nn.Module:  # type: ignore[name-defined]
    raise RuntimeError("no such checkpoint")


def test_a_module_is_exported_in_evaluation_mode_and_left_as_it_was() -> None:
    module = tiny().train()
    example = torch.randn(1, 3, 64, 64)
    grafted = graft(module, example=example)
    assert module.training
    assert all(part.training for part in module.modules())
    logits, saliency = ort.InferenceSession(grafted.SerializeToString()).run(None, {"input": example.numpy()})
    with torch.no_grad():
        np.testing.assert_allclose(logits, module.eval()(example).numpy(), atol=1e-5)
    assert saliency.shape == (1, 64, 64)


def test_the_file_holds_no_trace_of_the_machine() -> None:
    data = graft(tiny(), input_shape=[1, 3, 64, 64]).SerializeToString()
    assert b"test_load_torch" not in data
    assert str(Path.home()).encode() not in data


@pytest.fixture
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tiny_zoo", sys.modules[__name__])


@pytest.mark.usefixtures("importable")
def test_a_factory_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["export", "tiny_zoo:tiny", "--input-shape", "1,3,64,64"]) == 0
    assert (tmp_path / "tiny-fastcam.onnx").is_file()


@pytest.mark.usefixtures("importable")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tiny_zoo:tinny", "tiny_zoo has no 'tinny'; closest: tiny"),
        ("tiny_zoo:not_a_module", "gave a int, not a torch.nn.Module"),
        ("tiny_zoo:failing", "could not be built: RuntimeError: no such checkpoint"),
        ("no_such_package:model", "cannot import no_such_package"),
        ("timm:resnet18", "cannot import timm"),
    ],
)
def test_names_that_do_not_work(name: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", name]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.usefixtures("torchvision")
def test_an_unknown_torchvision_model_gets_the_closest_names() -> None:
    with pytest.raises(LoadError, match=r"torchvision has no classifier 'resnet19'; closest: .*resnet18"):
        graft("torchvision:resnet19")


def test_something_that_is_no_model() -> None:
    with pytest.raises(LoadError, match="cannot load a int"):
        graft(3)
