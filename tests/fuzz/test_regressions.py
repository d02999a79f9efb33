"""Files that once hung, filled the memory or ended in a traceback: one line each, in every command."""

from __future__ import annotations

import math
from pathlib import Path

import onnx
import pytest
from fastcam_export import graft
from fastcam_runtime.cli.main import main
from fastcam_runtime.measure import paired
from fastcam_runtime.model import watching
from onnx import TensorProto, helper
from support.networks import small_cnn
from support.processes import fastcam

from fuzz.grafted_regressions import GRAFTED
from fuzz.regressions import REGRESSIONS, looping
from fuzz.worker import complaint


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


RUN, BENCH = ["run", "test://?frames=2", "null://"], ["bench", "--rounds", "6"]


@pytest.mark.slow
@pytest.mark.parametrize("command", [RUN, BENCH], ids=lambda words: words[0])
@pytest.mark.parametrize("name", GRAFTED)
def test_a_hostile_grafted_file(tmp_path: Path, name: str, command: list[str]) -> None:
    """In a process of its own: onnxruntime must print nothing."""
    make, said_by_run, said_by_bench = GRAFTED[name]
    words = said_by_run if command is RUN else said_by_bench
    model = tmp_path / "model.onnx"
    model.write_bytes(make().SerializeToString())
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    with fastcam(command[0], model, *command[1:], environment=environment) as process:
        out, said = process.communicate(timeout=120)
    assert complaint(process.returncode, out + said) == ""
    assert process.returncode == (2 if words else 0), said
    assert words in said


@pytest.mark.slow
@pytest.mark.parametrize("command", [RUN, BENCH], ids=lambda words: words[0])
def test_an_endless_loop_in_a_grafted_file(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    """A loop of 2^62 trips is stopped, also in the commands that take grafted files."""
    monkeypatch.setattr(watching, "LOOP_SECONDS", 0.3)
    grafted = graft(looping(1))
    for tensor in grafted.graph.initializer:
        if tensor.name == "trips":
            tensor.CopyFrom(helper.make_tensor("trips", TensorProto.INT64, [], [1 << 62]))
    path = tmp_path / "model.onnx"
    onnx.save(grafted, path)
    assert main([command[0], str(path), *command[1:]]) == 2
    said = capfd.readouterr().err
    assert "Traceback" not in said
    assert "a run does not end within 0.3 s: it has a loop" in said


def test_a_slow_loop_is_not_measured(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every run is within its limit, but sixteen rounds are not."""
    path = tmp_path / "model.onnx"
    onnx.save(graft(looping(2)), path)
    assert main([*BENCH[:1], str(path), *BENCH[1:]]) == 0
    monkeypatch.setattr(paired, "LOOP_SECONDS", 0.0)
    capfd.readouterr()
    assert main([*BENCH[:1], str(path), *BENCH[1:]]) == 2
    assert "too slow to be measured" in capfd.readouterr().err


def test_trial_runs_share_their_time(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An export runs a network several times; together they end in time."""
    path = tmp_path / "model.onnx"
    onnx.save(looping(1 << 62), path)
    monkeypatch.setattr(watching, "TRIAL_SECONDS", 0.2)
    assert main(["export", str(path)]) == 2
    assert "its runs do not end within 0.2 s: it has a loop" in capfd.readouterr().err
    monkeypatch.setattr(watching.Trials, "seconds", math.inf)
    with watching.watched("it", 1, loops=True, trial=True):
        pass
    assert watching.Trials.seconds == math.inf


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
