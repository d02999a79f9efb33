"""Files that once hung, filled the memory or ended in a traceback: one line each, in every command."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from fastcam_export import graft
from fastcam_runtime.cli.main import main
from fastcam_runtime.model import watching
from onnx import TensorProto, helper
from support.networks import small_cnn
from support.processes import fastcam

from fuzz.regressions import REGRESSIONS, endless_loop


@pytest.mark.slow
@pytest.mark.parametrize("command", ["export", "inspect"])
@pytest.mark.parametrize("name", REGRESSIONS)
def test_a_hostile_model(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    command: str,
) -> None:
    monkeypatch.setattr(watching, "LOOP_SECONDS", 0.3)
    make, words = REGRESSIONS[name]
    model = tmp_path / "model.onnx"
    model.write_bytes(make().SerializeToString())
    assert main([command, str(model)]) == 2
    out, said = capfd.readouterr()
    assert out == ""
    assert said.startswith("fastcam: error: ")
    assert said.count("\n") == 1
    assert words in said
    assert "please report" not in said
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [["run", "test://?frames=2", "null://"], ["bench", "--rounds", "6"]],
    ids=lambda words: words[0],
)
def test_an_endless_loop_in_a_grafted_file(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    """A loop of 2^62 trips is stopped, also in the commands that take grafted files."""
    monkeypatch.setattr(watching, "LOOP_SECONDS", 0.3)
    model = endless_loop()
    trips = next(tensor for tensor in model.graph.initializer if tensor.name == "trips")
    trips.CopyFrom(helper.make_tensor("trips", TensorProto.INT64, [], [1]))
    grafted = graft(model)
    for tensor in grafted.graph.initializer:
        if tensor.name == "trips":
            tensor.CopyFrom(helper.make_tensor("trips", TensorProto.INT64, [], [1 << 62]))
    path = tmp_path / "model.onnx"
    onnx.save(grafted, path)
    assert main([command[0], str(path), *command[1:]]) == 2
    said = capfd.readouterr().err
    assert "Traceback" not in said
    assert "a run does not end within 0.3 s: it has a loop" in said


def test_scores_declared_with_another_rank(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """onnxruntime runs such a file; so the rank that the network computes counts."""
    model = small_cnn()
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    for name in "NAB":
        model.graph.output[0].type.tensor_type.shape.dim.add(dim_param=name)
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    assert main(["inspect", str(path)]) == 0
    assert capfd.readouterr().err == ""


@pytest.mark.slow  # writes 1.5 GB of zeros
def test_one_node_that_fills_the_memory(tmp_path: Path) -> None:
    """onnxruntime cannot be stopped inside a node of 12.8 GB: the process ends, with one line."""
    nodes = [
        helper.make_node("ConstantOfShape", ["shape"], ["zeros"]),
        helper.make_node("ReduceSum", ["zeros"], ["sum"], keepdims=0),
        helper.make_node("Add", ["x", "sum"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "bomb",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [helper.make_tensor("shape", TensorProto.INT64, [2], [40_000, 80_000])],
    )
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    with fastcam("bench", path, "--rounds", "6") as process:
        _, said = process.communicate(timeout=120)
    assert process.returncode == 2
    assert said == f"fastcam: error: {path}: a run takes more than 1.5 GB of memory\n"
