"""The description of the form matches what onnxruntime's profile shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from fastcam_export import graft
from fastcam_runtime import native
from fastcam_runtime.cli.main import main
from fastcam_runtime.model.file import summarize_file
from fastcam_runtime.model.grafted import Model
from fastcam_runtime.model.kernels import describe_kernels
from support.networks import small_cnn
from support.profiled import nodes_run

PICTURE = {"input": np.ones((1, 3, 64, 64), np.float32)}
with_kernels = pytest.mark.skipif(native.library_path() is None, reason=native.status())


def form_of(model: onnx.ModelProto, folder: Path, *, wanted: bool = True, on_cpu: bool = True) -> str:
    """The description of a model that was saved as a file."""
    path = folder / "model.onnx"
    onnx.save(model, path)
    return describe_kernels(summarize_file(path), compiled=wanted, on_cpu=on_cpu)


def save_ort(model: onnx.ModelProto, path: Path, *, compiled: bool = False) -> None:
    """Convert to onnxruntime's own format, as it does itself."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(path)
    options.add_session_config_entry("session.save_model_format", "ORT")
    if compiled:
        native.register(options)
    ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def functions_by_kernel(model: onnx.ModelProto, folder: Path) -> tuple[set[str], set[str]]:
    """The model's functions that ran as one compiled kernel, and those that did not."""
    ran = {operator for _, operator in nodes_run(model.SerializeToString(), PICTURE, folder, compiled=True)}
    names = {function.name for function in model.functions}
    return names & ran, names - ran


@with_kernels
def test_a_file_of_the_exporter_runs_in_compiled_kernels(tmp_path: Path) -> None:
    model = graft(small_cnn(), outputs=["saliency_map", "scales", "lovi"])
    assert functions_by_kernel(model, tmp_path)[1] == set()
    assert form_of(model, tmp_path) == native.status()


@with_kernels
@pytest.mark.parametrize("options", [{"statistic": "shannon"}, {"outputs": ["saliency_map", "fastcam"]}])
def test_functions_without_a_kernel_are_named(options: dict[str, Any], tmp_path: Path) -> None:
    model = graft(small_cnn(), **options)
    compiled, standard = functions_by_kernel(model, tmp_path)
    assert compiled
    assert standard
    said, names = form_of(model, tmp_path).split(", standard operators for ")
    assert said == native.status()
    assert set(names.split(", ")) == standard


@with_kernels
def test_a_file_whose_functions_all_lack_kernels(tmp_path: Path) -> None:
    model = graft(small_cnn())
    renamed = {function.name: f"Other{function.name}" for function in model.functions}
    for named in (*model.functions, *(node for node in model.graph.node if node.domain == "fastcam")):
        name = "op_type" if isinstance(named, onnx.NodeProto) else "name"
        setattr(named, name, renamed[getattr(named, name)])
    assert functions_by_kernel(model, tmp_path) == (set(), set(renamed.values()))
    form = form_of(model, tmp_path)
    assert form == f"standard operators, no compiled kernels for {', '.join(renamed.values())}"


@with_kernels
def test_an_inlined_file_has_nothing_for_the_kernels(tmp_path: Path) -> None:
    model = graft(small_cnn(), inline=True)
    assert form_of(model, tmp_path) == "standard operators, no functions for compiled kernels"


@with_kernels
@pytest.mark.parametrize(("wanted", "on_cpu", "why"), [(False, True, "not wanted"), (True, False, "the CPU")])
def test_kernels_that_are_not_used(wanted: bool, on_cpu: bool, why: str, tmp_path: Path) -> None:
    form = form_of(graft(small_cnn()), tmp_path, wanted=wanted, on_cpu=on_cpu)
    assert form.startswith("standard operators")
    assert form.endswith(why)


@with_kernels
@pytest.mark.parametrize("compiled", [True, False])
def test_an_ort_file_is_looked_into(
    compiled: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Converting expands the functions, unless the kernels were there."""
    save_ort(graft(small_cnn()), tmp_path / "model.ort", compiled=compiled)
    form = native.status() if compiled else "standard operators, no functions for compiled kernels"
    assert Model(tmp_path / "model.ort", threads=1).describe() == f"model.ort on cpu, 1 thread, {form}"
    assert main(["inspect", str(tmp_path / "model.ort")]) == 0
    assert f"\nruns here   {form}\n" in capsys.readouterr().out


def test_a_plain_ort_file_is_not_inspected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_ort(small_cnn(), tmp_path / "plain.ort")
    assert main(["inspect", str(tmp_path / "plain.ort")]) == 2
    assert "has no saliency maps; inspect the .onnx file that it was made from" in capsys.readouterr().err


def test_a_plain_network_has_no_maps(tmp_path: Path) -> None:
    assert form_of(small_cnn(), tmp_path) == "standard operators, no maps"


def test_without_a_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "_LIBRARY", tmp_path / "fastcam_ops.so")
    assert form_of(graft(small_cnn()), tmp_path) == f"standard operators, {native.status()}"
