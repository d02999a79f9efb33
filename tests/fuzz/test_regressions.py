"""Files that once hung, filled the memory or ended in a traceback: one line each, in every command."""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
import sys
import tracemalloc
from pathlib import Path

import onnx
import pytest
from fastcam_export import graft
from fastcam_runtime.cli.main import main
from fastcam_runtime.measure import paired
from fastcam_runtime.model import protobuf, watching
from fastcam_runtime.model.protobuf import text_field
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


def _endless_graft() -> onnx.ModelProto:
    """A grafted file with a loop of 2^62 trips."""
    grafted = graft(looping(1))
    (trips,) = (tensor for tensor in grafted.graph.initializer if tensor.name == "trips")
    trips.CopyFrom(helper.make_tensor("trips", TensorProto.INT64, [], [1 << 62]))
    return grafted


@pytest.mark.slow
@pytest.mark.parametrize("command", [RUN, BENCH], ids=lambda words: words[0])
def test_an_endless_loop_in_a_grafted_file(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    """It is stopped in the commands that take grafted files too."""
    monkeypatch.setattr(watching, "LOOP_SECONDS", 0.3)
    path = tmp_path / "model.onnx"
    onnx.save(_endless_graft(), path)
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


def _with_least_quotient(model: onnx.ModelProto) -> onnx.ModelProto:
    """`model` with a division of the least integer by −1 before its first activation."""
    place = next(k for k, node in enumerate(model.graph.node) if "a1" in node.output)
    old = list(model.graph.node)
    nodes = [
        helper.make_node("Div", ["least", "minus"], ["quotient"]),
        helper.make_node("Cast", ["quotient"], ["number"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["c1", "number"], ["a1"]),
    ]
    del model.graph.node[:]
    model.graph.node.extend([*old[:place], *nodes, *old[place + 1 :]])
    for name, value in (("least", -(1 << 63)), ("minus", -1)):
        model.graph.initializer.append(helper.make_tensor(name, TensorProto.INT64, [], [value]))
    return model


@pytest.mark.slow
@pytest.mark.parametrize("command", [["export"], RUN, BENCH], ids=lambda words: words[0])
def test_a_quotient_that_no_integer_holds(tmp_path: Path, command: list[str]) -> None:
    """x86 raises SIGFPE inside onnxruntime; other processors compute something."""
    path = tmp_path / "model.onnx"
    plain = command[0] == "export"
    onnx.save(_with_least_quotient(small_cnn() if plain else graft(small_cnn())), path)
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    with fastcam(command[0], path, *command[1:], environment=environment) as process:
        _, said = process.communicate(timeout=120)
    assert complaint(process.returncode, said) == ""
    if platform.machine() == "x86_64":
        assert process.returncode == 2
        assert "no integer can hold" in said


@pytest.mark.parametrize("command", [RUN, BENCH], ids=lambda words: words[0])
def test_a_loop_whose_name_has_a_long_length(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    """A length may be written with more bytes than needed: the Loop is found all the same."""
    monkeypatch.setattr(watching, "LOOP_SECONDS", 0.3)
    grafted = _endless_graft()
    # The name is taken out and put back as an unusual field behind the others of its node.
    node = next(node for node in grafted.graph.node if node.op_type == "Loop")
    node.op_type = ""
    index = list(grafted.graph.node).index(node)
    rest = [n for k, n in enumerate(grafted.graph.node) if k > index]
    data = node.SerializeToString().replace(b'"\0', b"", 1) + b'"\x84\0Loop'
    del grafted.graph.node[index:]
    graph = grafted.graph.SerializeToString()
    grafted.graph.Clear()
    pieces = b"".join(text_field(1, piece) for piece in (data, *(n.SerializeToString() for n in rest)))
    path = tmp_path / "model.onnx"
    path.write_bytes(grafted.SerializeToString() + text_field(7, graph + pieces))
    assert onnx.load(path).graph.node[index].op_type == "Loop"
    assert main([command[0], str(path), *command[1:]]) == 2
    assert "a run does not end within 0.3 s: it has a loop" in capfd.readouterr().err


@pytest.mark.parametrize("command", [["export"], ["inspect"], RUN, BENCH], ids=lambda words: words[0])
@pytest.mark.parametrize("graph", [True, False], ids=["nodes", "entries"])
def test_millions_of_empty_parts(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
    graph: bool,
) -> None:
    """Two bytes each in the file, and hundreds in memory."""
    model = graft(small_cnn()) if command[0] in ("run", "bench") else small_cnn()
    monkeypatch.setattr(protobuf, "MAX_FIELDS", 10_000)
    path = tmp_path / "model.onnx"
    parts = b"\x0a\0" * 20_000
    path.write_bytes(model.SerializeToString() + (text_field(7, parts) if graph else b"\x72\0" * 20_000))
    assert main([command[0], str(path), *command[1:]]) == 2
    said = capfd.readouterr().err
    assert said.count("\n") == 1
    assert "more than 10000 fields" in said


@pytest.mark.parametrize("command", [["export"], ["inspect"], RUN, BENCH], ids=lambda words: words[0])
def test_a_file_with_a_hole(tmp_path: Path, capfd: pytest.CaptureFixture[str], command: list[str]) -> None:
    """40 GB that take no room on the disk."""
    path = tmp_path / "model.onnx"
    onnx.save(graft(small_cnn()), path)
    os.truncate(path, 40 << 30)
    assert main([command[0], str(path), *command[1:]]) == 2
    assert "no model's file can have" in capfd.readouterr().err


def test_a_run_that_takes_too_long(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A network without a loop may compute for days."""
    model = small_cnn()
    products = [helper.make_node("MatMul", [f"p{k}", "p0"], [f"p{k + 1}"]) for k in range(400)]
    nodes = [
        helper.make_node("ConstantOfShape", ["shape"], ["zeros"]),
        helper.make_node("ReduceMean", ["c1"], ["mean"], keepdims=0),
        helper.make_node("Add", ["zeros", "mean"], ["p0"]),  # no constant, which onnxruntime would fold
        *products,
        helper.make_node("ReduceSum", ["p400"], ["sum"], keepdims=0),
        helper.make_node("Add", ["c1", "sum"], ["a1"]),
    ]
    old = list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend([old[0], *nodes, *old[2:]])
    model.graph.initializer.append(helper.make_tensor("shape", TensorProto.INT64, [2], [1024, 1024]))
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    monkeypatch.setattr(watching, "RUN_SECONDS", 0.2)
    assert main(["export", str(path)]) == 2
    assert "a run does not end within 0.2 s" in capfd.readouterr().err


@pytest.mark.parametrize("command", ["export", "inspect"])
@pytest.mark.parametrize(
    "names", ["[" + "1," * 3_000_000 + "]", json.dumps(["\ud800"] * 10)], ids=["long", "half"]
)
def test_hostile_class_names(tmp_path: Path, names: str, command: str) -> None:
    """A Python list of 6 MB would take gigabytes; half a character cannot be written."""
    model = small_cnn()
    helper.set_model_props(model, {"names": names})
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    tracemalloc.start()
    assert main([command, str(path), *([str(tmp_path / "out.onnx")] if command == "export" else [])]) == 0
    assert tracemalloc.get_traced_memory()[1] < 200e6
    tracemalloc.stop()


@pytest.mark.parametrize("command", [["inspect"], RUN, BENCH], ids=lambda words: words[0])
def test_half_a_character_in_the_metadata(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], command: list[str]
) -> None:
    model = graft(small_cnn(), labels=[f"label {k}" for k in range(10)])
    for entry in model.metadata_props:
        entry.value = entry.value.replace("label 3", "\\ud800")
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    assert main([command[0], str(path), *command[1:]]) == 2
    assert "'labels[3]' is" in capfd.readouterr().err


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["completion", "bash"], ["inspect"]])
def test_a_full_disk_behind_the_output(tmp_path: Path, words: list[str]) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(graft(small_cnn()), path)
    command = [
        sys.executable,
        "-m",
        "fastcam_runtime.cli.main",
        *words,
        *([path] if "inspect" in words else []),
    ]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    with open("/dev/full", "w") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=environment)
    assert (ended.returncode, ended.stderr) == (2, "fastcam: error: No space left on device\n")


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
