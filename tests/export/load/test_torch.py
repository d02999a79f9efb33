"""Torch modules, and names that refer to them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
from fastcam_export import LoadError, graft
from fastcam_runtime.cli.main import main
from fastcam_runtime.installation import requirement

torch = pytest.importorskip("torch")


def tiny() -> torch.nn.Module:  # type: ignore[name-defined]
    """Named `test_load_torch:tiny` on the command line."""
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, stride=2), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
        torch.nn.Conv2d(8, 8, 3, stride=2), torch.nn.SiLU(), torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(), torch.nn.Dropout(), torch.nn.Linear(8, 5),
    )  # fmt: skip


def undecided() -> torch.nn.Module:  # type: ignore[name-defined]
    class Undecided(torch.nn.Module):  # type: ignore[name-defined, misc]
        def forward(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[name-defined]
            return x if x.sum() > 0 else torch.nn.functional.relu(x)

    return Undecided()


def not_a_module() -> int:
    return 3


def failing() -> torch.nn.Module:  # type: ignore[name-defined]
    raise RuntimeError("no such checkpoint")


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_file_holds_no_trace_of_the_machine() -> None:
    data = graft(tiny(), input_shape=[1, 3, 64, 64]).SerializeToString()
    assert b"test_load_torch" not in data
    assert str(Path.home()).encode() not in data


@pytest.mark.slow
def test_what_torch_cannot_export_is_one_line(importable: None, capfd: pytest.CaptureFixture[str]) -> None:
    """torch prints graphs and traces of thousands of lines."""
    assert main(["export", "tiny_zoo:undecided", "--input-shape", "1,3,8,8"]) == 2
    out, error = capfd.readouterr()
    assert (out, error.count("\n")) == ("", 1)
    assert error.startswith("fastcam: error: torch cannot export Undecided: ")
    assert "data-dependent" in error
    assert main(["export", "tiny_zoo:undecided", "--input-shape", "1,3,8,8", "--debug"]) == 2
    assert "Traceback" in capfd.readouterr().err


@pytest.fixture
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tiny_zoo", sys.modules[__name__])


@pytest.mark.slow
@pytest.mark.usefixtures("importable")
def test_a_factory_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["export", "tiny_zoo:tiny", "--input-shape", "1,3,64,64"]) == 0
    assert (tmp_path / "tiny-fastcam.onnx").is_file()


@pytest.mark.slow
@pytest.mark.usefixtures("importable")
def test_a_factory_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command is a script in another folder, where Python itself would search for modules."""
    (tmp_path / "net_of_mine.py").write_text("from tiny_zoo import tiny\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place not in ("", str(tmp_path))])
    before = list(sys.path)
    assert main(["export", "net_of_mine:tiny", "--input-shape", "1,3,64,64"]) == 0
    assert (tmp_path / "tiny-fastcam.onnx").is_file()
    assert sys.path == before


LATE = """
import torch
import tiny_zoo

class Late(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.network = tiny_zoo.tiny()

    def forward(self, x):
        from late_scaling import scale
        return self.network(scale(x))
"""


@pytest.mark.slow
@pytest.mark.usefixtures("importable")
def test_a_factory_in_the_current_folder_that_imports_its_neighbour_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "late_net.py").write_text(LATE)
    (tmp_path / "late_scaling.py").write_text("def scale(x):\n    return 2 * x\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place not in ("", str(tmp_path))])
    before = list(sys.path)
    assert main(["export", "late_net:Late", "--input-shape", "1,3,64,64"]) == 0
    assert sys.path == before


@pytest.mark.usefixtures("importable")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tiny_zoo:tinny", "tiny_zoo has no 'tinny'; closest: tiny"),
        ("tiny_zoo:not_a_module", "gave a int, not a torch.nn.Module"),
        ("tiny_zoo:failing", "could not be built: RuntimeError: no such checkpoint"),
        ("no_such_package:model", "cannot import no_such_package"),
        ("timm:resnet18", "timm:resnet18 needs timm: pip install timm\n"),
    ],
)
def test_names_that_do_not_work(name: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", name]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.usefixtures("torchvision")
def test_an_unknown_torchvision_model_gets_the_closest_names() -> None:
    with pytest.raises(LoadError, match=r"torchvision has no classifier 'resnet19'; closest: .*resnet18"):
        graft("torchvision:resnet19")


def test_something_that_is_no_model() -> None:
    with pytest.raises(LoadError, match="cannot load a int"):
        graft(3)


WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
import fastcam_export
from fastcam_runtime.cli.main import main
if len(sys.argv) > 2:
    sys.exit(main(sys.argv[2:]))
try:
    fastcam_export.export(object(), "x.onnx")
except fastcam_export.LoadError as error:
    sys.exit(f"refused: {error}")
"""


def without(missing: str, *argv: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """`fastcam` without an installed package; without arguments, `export` of a missing model."""
    command = [sys.executable, "-c", WITHOUT, missing, *argv]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        "export torchvision:resnet18 x.onnx",
        "export foo:bar",
        "inspect timm:resnet18",
        "tune some.mod:f --budget 5%",
    ],
)
def test_a_name_where_torch_is_not_installed(line: str, tmp_path: Path) -> None:
    done = without("torch", *line.split(), folder=tmp_path)
    name = line.split()[1]
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"fastcam: error: {name}: torch models need torch: pip install {requirement('torch')}\n"
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_something_that_is_no_model_where_torch_is_not_installed(tmp_path: Path) -> None:
    done = without("torch", folder=tmp_path)
    assert done.stderr.startswith("refused: cannot load a object: ")


@pytest.mark.slow
def test_a_name_where_torchvision_is_not_installed(tmp_path: Path) -> None:
    done = without("torchvision", "inspect", "torchvision:resnet18", folder=tmp_path)
    needs = "torchvision:resnet18 needs torchvision: pip install torchvision"
    assert (done.returncode, done.stderr) == (2, f"fastcam: error: {needs}\n")
