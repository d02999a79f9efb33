"""External weights: found in the right place, or reported as missing in one line."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from fastcam_export import export, graft
from fastcam_export.errors import LoadError
from fastcam_runtime.cli.main import main
from onnx import TensorProto, helper, numpy_helper
from support.networks import add_weights, hide_a_shape, small_cnn
from support.running import picture, run


def keep_outside(tensor: TensorProto, file: Path, **entries: str) -> None:
    """Move a tensor's values to an external file; `entries` replace the tensor's reference to it."""
    file.write_bytes(tensor.raw_data)
    length = str(len(tensor.raw_data))
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in ({"location": file.name, "offset": "0", "length": length} | entries).items():
        if value:
            tensor.external_data.add(key=key, value=value)


@pytest.mark.slow
@pytest.mark.parametrize("relative", [False, True])
def test_external_weights_and_a_hidden_shape(
    relative: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, x = small_cnn(), picture(1, 3, 64, 64)
    hide_a_shape(model)
    expected = run(graft(model), input=x)
    (tmp_path / "source").mkdir()
    source = tmp_path / "source" / "m.onnx"
    onnx.save(model, source, save_as_external_data=True, location="m.bin", size_threshold=100)
    monkeypatch.chdir(tmp_path)
    export(source.relative_to(tmp_path) if relative else source, tmp_path / "o.onnx")
    for name, values in run(tmp_path / "o.onnx", input=x).items():
        np.testing.assert_array_equal(values, expected[name], err_msg=name)


def test_weights_behind_links(tmp_path: Path) -> None:
    """A cache of downloaded models keeps the files in one folder, under other names, and links to them."""
    model, x = small_cnn(), picture(1, 3, 64, 64)
    hide_a_shape(model)
    expected = run(graft(model), input=x)
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshot"
    blobs.mkdir()
    snapshot.mkdir()
    onnx.save(model, blobs / "m.onnx", save_as_external_data=True, location="m.bin", size_threshold=100)
    for blob, name in (("aaaa", "m.onnx"), ("bbbb", "m.bin")):
        (blobs / name).rename(blobs / blob)
        (snapshot / name).symlink_to(blobs / blob)
    export(snapshot / "m.onnx", tmp_path / "o.onnx")
    for name, values in run(tmp_path / "o.onnx", input=x).items():
        np.testing.assert_array_equal(values, expected[name], err_msg=name)


def with_branch() -> onnx.ModelProto:
    """`small_cnn` of the picture, or of its double where it holds a value above 2."""
    model = small_cnn()
    shape = [1, 3, 64, 64]
    double = helper.make_graph(
        [helper.make_node("Mul", ["input", "two"], ["t"])],
        "double",
        [],
        [helper.make_tensor_value_info("t", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(np.full(shape, 2, np.float32), "two")],
    )
    same = helper.make_graph(
        [helper.make_node("Identity", ["input"], ["e"])],
        "same",
        [],
        [helper.make_tensor_value_info("e", TensorProto.FLOAT, shape)],
    )
    nodes = [
        helper.make_node("ReduceMax", ["input"], ["highest"], keepdims=0),
        helper.make_node("Greater", ["highest", "limit"], ["bright"]),
        helper.make_node("If", ["bright"], ["chosen"], then_branch=double, else_branch=same),
    ]
    for position, node in enumerate(nodes):
        model.graph.node.insert(position, node)
    model.graph.node[len(nodes)].input[0] = "chosen"
    add_weights(model, limit=np.array(2, np.float32))
    return model


@pytest.mark.slow
def test_external_weights_inside_a_branch(tmp_path: Path) -> None:
    model = with_branch()
    expected = [run(graft(model), input=np.full((1, 3, 64, 64), v, np.float32)) for v in (1, 3)]
    source = tmp_path / "source"
    source.mkdir()
    body = next(a.g for a in model.graph.node[2].attribute if a.name == "then_branch")
    keep_outside(body.initializer[0], source / "two.bin")
    (source / "m.onnx").write_bytes(model.SerializeToString())
    export(source / "m.onnx", tmp_path / "o.onnx")
    assert run(graft(source / "m.onnx"), input=np.ones((1, 3, 64, 64), np.float32))
    shutil.rmtree(source)
    for v, before in zip((1, 3), expected, strict=True):
        for name, values in run(tmp_path / "o.onnx", input=np.full((1, 3, 64, 64), v, np.float32)).items():
            np.testing.assert_array_equal(values, before[name], err_msg=name)


def test_missing_weights_of_a_branch(tmp_path: Path) -> None:
    model = with_branch()
    body = next(a.g for a in model.graph.node[2].attribute if a.name == "then_branch")
    keep_outside(body.initializer[0], tmp_path / "two.bin")
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    (tmp_path / "two.bin").unlink()
    with pytest.raises(LoadError, match=r"keeps weights in two\.bin, which is not beside it"):
        export(tmp_path / "m.onnx", tmp_path / "o.onnx")


@pytest.mark.parametrize("command", ["export", "inspect"])
@pytest.mark.parametrize(
    ("entries", "found"),
    [
        ({"location": ""}, "offset '0', length '864'"),
        ({"offset": "abc"}, "location 'w1.bin', offset 'abc', length '864'"),
        ({"location": "", "offset": "", "length": ""}, "nothing"),
        ({"location": "Tiere"}, r"location b'B\xe4ren', offset '0', length '864'"),
    ],
)
def test_external_weights_that_do_not_say_where(
    entries: dict[str, str],
    found: str,
    command: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    model = small_cnn()
    keep_outside(model.graph.initializer[0], tmp_path / "w1.bin", **entries)
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString().replace(b"Tiere", "Bären".encode("latin-1")))
    assert main([command, str(path)]) == 2
    message = f"{path}: the weights of 'w1' cannot be found with {found}"
    assert capsys.readouterr() == ("", f"fastcam: error: {message}\n")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["above", "absolute", "link"])
@pytest.mark.parametrize("command", ["export", "inspect", "run", "bench"])
def test_weights_outside_the_model_s_folder(
    kind: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Refused before anything is read or copied, whatever onnxruntime would do with them."""
    folder = tmp_path / "model"
    folder.mkdir()
    model = graft(small_cnn()) if command in ("run", "bench") else small_cnn()
    tensor = next(tensor for tensor in model.graph.initializer if tensor.name == "w1")
    secret = tmp_path / "secret.bin"
    location = {"above": "../secret.bin", "absolute": str(secret), "link": "link.bin"}[kind]
    keep_outside(tensor, secret, location=location)
    (folder / "link.bin").symlink_to(secret)
    path = folder / "m.onnx"
    path.write_bytes(model.SerializeToString())
    before = sorted(folder.iterdir())
    further = {"run": ["test://?frames=1", "null://"]}.get(command, [])
    assert main([command, str(path), *further]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"fastcam: error: {path} keeps weights in '{location[:40]}")  # a long path is cut
    assert "which is outside" in said
    assert said.count("\n") == 1
    assert sorted(folder.iterdir()) == before


@pytest.mark.slow
@pytest.mark.parametrize("command", ["export", "inspect", "run", "bench"])
@pytest.mark.parametrize("key", ["offset", "length"])
def test_a_place_below_zero(
    key: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = graft(small_cnn()) if command in ("run", "bench") else small_cnn()
    tensor = next(tensor for tensor in model.graph.initializer if tensor.name == "w1")
    keep_outside(tensor, tmp_path / "w1.bin", **{key: "-4"})
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    further = {"run": ["test://?frames=1", "null://"]}.get(command, [])
    assert main([command, str(path), *further]) == 2
    assert capsys.readouterr().err == (
        f"fastcam: error: {path}: the weights of 'w1' have the {key} '-4', below zero\n"
    )
