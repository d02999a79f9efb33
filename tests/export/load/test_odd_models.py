"""Unusual models: read correctly, or refused in one line by export, inspect and tune."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from fastcam_export import export, graft
from fastcam_export.errors import LoadError
from fastcam_export.load import load
from fastcam_runtime.cli.main import main
from fastcam_runtime.errors import FastcamError
from onnx import TensorProto, helper, numpy_helper
from support.networks import add_weights, small_cnn, take_weights
from support.running import metadata_of, picture, run

COMMANDS = [["export"], ["inspect"], ["tune", "--budget", "5%", "--images", "test://?frames=1"]]
EVERYTHING = ["saliency_map", "scales", "lovi", "cam", "fastcam", "nonclass"]


def with_function(
    opset: int, body: str = "c = Conv <strides=[2,2], pads=[1,1,1,1]> (x, w)"
) -> onnx.ModelProto:
    """The first convolution of `small_cnn` as a local function, which imports another opset version."""
    function = (
        f'<domain: "local", opset_import: ["" : {opset}, "local" : 1]> Stage (x, w) => (c) {{ {body} }}'
    )
    model = small_cnn()
    model.functions.append(onnx.parser.parse_function(function))
    model.opset_import.add(domain="local", version=1)
    model.graph.node[0].CopyFrom(helper.make_node("Stage", ["input", "w1"], ["c1"], domain="local"))
    return model


def test_nodes_out_of_order_are_sorted_with_a_note() -> None:
    """Converters to half precision put their casts behind all other nodes; onnxruntime runs such a file."""
    plain, model = small_cnn(), small_cnn()
    cast = helper.make_node("Cast", ["input"], ["half"], to=TensorProto.FLOAT)
    model.graph.node[0].input[0] = "half"
    model.graph.node.append(cast)
    model.graph.node.append(model.graph.node[1])
    del model.graph.node[1]
    source = load(model)
    assert source.notes == ("nodes sorted: the file has them out of order",)
    onnx.checker.check_model(source.proto)
    assert load(plain).notes == ()
    x = picture(1, 3, 64, 64)
    wanted = run(graft(plain, outputs=EVERYTHING), input=x)
    for name, values in run(graft(model, outputs=EVERYTHING), input=x).items():
        np.testing.assert_array_equal(values, wanted[name], err_msg=name)


def test_nodes_in_a_circle_are_refused_in_one_line() -> None:
    model = small_cnn()
    model.graph.node[0].input[0] = model.graph.node[-1].output[0]
    with pytest.raises(FastcamError) as error:
        graft(model)
    assert "\n" not in str(error.value)


def test_a_function_of_another_opset_version_with_the_same_operators() -> None:
    x = picture(1, 3, 64, 64)
    grafted = run(graft(with_function(13)), input=x)
    for name, values in run(graft(small_cnn()), input=x).items():
        np.testing.assert_array_equal(grafted[name], values, err_msg=name)


@pytest.mark.slow
def test_a_negative_dimension_is_free() -> None:
    model, x = small_cnn("float[N,3,64,64] input"), picture(2, 3, 64, 64)
    expected = run(graft(model, outputs=EVERYTHING), input=x)
    for value in (model.graph.input[0], model.graph.output[0]):
        value.type.tensor_type.shape.dim[0].dim_value = -1
    model.graph.output[0].type.tensor_type.shape.dim[1].dim_value = -1
    names = list("abcdefghij")
    grafted = graft(model, outputs=EVERYTHING, labels=names)
    assert metadata_of(grafted).labels == tuple(names)
    for name, values in run(grafted, input=x).items():
        np.testing.assert_array_equal(values, expected[name], err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "freed"),
    [("1,3,64,64", (0,)), ("1,3,64,64", (2, 3)), ("1,3,64,64", (0, 2, 3)), ("N,3,64,64", (0, 2, 3))],
    ids=["batch", "size", "both", "size of a free batch"],
)
def test_shapes_left_over_from_before_a_dimension_was_freed(given: str, freed: tuple[int, ...]) -> None:
    """Someone has edited the input; the shapes inside and of the output are still the old ones."""
    model = onnx.shape_inference.infer_shapes(small_cnn(f"float[{given}] input"))
    assert {value.name for value in model.graph.value_info} > {"a1", "a2", "a3", "flat"}
    for axis in freed:
        model.graph.input[0].type.tensor_type.shape.dim[axis].dim_param = "NCHW"[axis]
    shape = np.where([axis in freed for axis in range(4)], (3, 3, 48, 80), (1, 3, 64, 64))
    grafted = graft(model, outputs=EVERYTHING, input_shape=[1, 3, 64, 64])
    clean = graft(small_cnn("float[N,3,H,W] input"), outputs=EVERYTHING)
    x = picture(*shape)
    expected = run(clean, input=x)
    for name, values in run(grafted, input=x).items():
        np.testing.assert_allclose(values, expected[name], atol=1 if values.dtype == np.uint8 else 1e-5)


def test_shapes_that_do_not_depend_on_what_is_free_are_kept() -> None:
    """Those of a constant output, and all of a network whose second input is of free length."""
    model = small_cnn("float[1,3,64,64] input, float[L] extra")
    model.graph.node.append(helper.make_node("Identity", ["anchors"], ["boxes"]))
    model.graph.output.append(helper.make_tensor_value_info("boxes", TensorProto.FLOAT, [40, 4]))
    add_weights(model, anchors=np.zeros((40, 4), np.float32))
    model = onnx.shape_inference.infer_shapes(model)
    grafted = graft(model).graph
    assert list(grafted.value_info) == list(model.graph.value_info)
    assert list(grafted.output)[:2] == list(model.graph.output)


def test_a_half_precision_network_that_dequantises_by_a_constant_node() -> None:
    model = small_cnn("float16[1,3,64,64] input", dtype=np.float16, opset=19)
    model.ir_version = 9
    for node in [node for node in model.graph.node if node.op_type == "Relu"]:
        (x,), (y,) = node.input, node.output
        quantise = helper.make_node("QuantizeLinear", [x, "scale", "zero"], [f"{y}_q"])
        node.CopyFrom(helper.make_node("DequantizeLinear", [f"{y}_q", "scale", "zero"], [y]))
        model.graph.node.insert(list(model.graph.node).index(node), quantise)
    add_weights(model, zero=np.uint8(0))
    given, x = onnx.ModelProto(), picture(1, 3, 64, 64).astype(np.float16)
    given.CopyFrom(model)
    add_weights(given, scale=np.float16(0.02))
    value = numpy_helper.from_array(np.float16(0.02))
    model.graph.node.insert(0, helper.make_node("Constant", [], ["scale"], value=value))
    expected = run(graft(given), input=x)
    for name, values in run(graft(model), input=x).items():
        np.testing.assert_array_equal(values, expected[name], err_msg=name)


def refused(capsys: pytest.CaptureFixture[str], path: Path, command: list[str]) -> str:
    """The line about the file; nothing else may be in its folder."""
    before = sorted(path.parent.iterdir())
    name, *options = command
    out = {"export": [path.parent / "o.onnx"], "tune": ["--out", path.parent / "o.onnx"]}.get(name, [])
    assert main([name, str(path), *options, *map(str, out)]) == 2
    shown, err = capsys.readouterr()
    assert (shown, err.count("\n")) == ("", 1)
    start = f"fastcam: error: {path}: "
    assert err.startswith(start)
    assert sorted(path.parent.iterdir()) == before
    return err.removeprefix(start)


def with_map_output() -> onnx.ModelProto:
    """As scikit-learn's converter ends a classifier: a dictionary from class to probability."""
    model = small_cnn()
    model.opset_import.add(domain="ai.onnx.ml", version=2)
    model.graph.node.append(
        helper.make_node("ZipMap", ["logits"], ["p"], domain="ai.onnx.ml", classlabels_int64s=range(10))
    )
    value = model.graph.output.add(name="p").type.sequence_type.elem_type.map_type
    value.key_type = TensorProto.INT64
    value.value_type.tensor_type.elem_type = TensorProto.FLOAT
    return model


def sparse(array: np.ndarray, name: str) -> onnx.SparseTensorProto:
    (where,) = np.nonzero(array.reshape(-1))
    values = numpy_helper.from_array(array.reshape(-1)[where], name)
    return helper.make_sparse_tensor(values, numpy_helper.from_array(where), array.shape)


def with_sparse_constant() -> onnx.ModelProto:
    model = small_cnn()
    node = helper.make_node("Constant", [], ["w4"], sparse_value=sparse(take_weights(model, "w4"), ""))
    model.graph.node.insert(0, node)
    return model


def with_sparse_weights() -> onnx.ModelProto:
    model = small_cnn()
    model.graph.sparse_initializer.append(sparse(take_weights(model, "w2"), "w2"))
    return model


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize(
    ("model", "message"),
    [
        (with_map_output(), "its graph cannot be read: Map types are not supported yet\n"),
        (with_sparse_constant(), "its graph cannot be read: Sparse tensors are not supported yet\n"),
        (with_sparse_weights(), "its sparse initializer 'w2' cannot be read: make it dense\n"),
        # Relu changed in opset 14, so this is not valid ONNX.
        (
            with_function(13, "r = Relu (x) c = Conv <strides=[2,2], pads=[1,1,1,1]> (r, w)"),
            "its local functions cannot be inlined: Opset mismatch",
        ),
        (with_function(17, "c = local.Stage (x, w)"), "the function 'Stage' calls itself"),
    ],
    ids=["map output", "sparse constant", "sparse weights", "opset mismatch", "recursion"],
)
def test_models_that_cannot_be_read(
    model: onnx.ModelProto,
    message: str,
    command: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(model, path)
    assert refused(capsys, path, command).startswith(message)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize("field", ["tensor", "graph", "producer", "domain"])
def test_names_that_are_not_utf8(
    field: str, command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = small_cnn()
    if field == "tensor":
        model.graph.node[1].output[0] = model.graph.node[2].input[0] = "Tiere"
    elif field == "graph":
        model.graph.name = "Tiere"
    elif field == "producer":
        model.producer_name = "Tiere"
    else:
        model.opset_import.add(domain="Tiere", version=1)
    latin = "Bären".encode("latin-1")
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString().replace(b"Tiere", latin))
    assert refused(capsys, path, command) == f"the text {latin!r} in it cannot be read: it is not UTF-8\n"
    with pytest.raises(LoadError, match=r"this model: the text .* cannot be read"):
        export(path.read_bytes(), tmp_path / "o.onnx")


@pytest.mark.parametrize("model", [small_cnn(), small_cnn(opset=11), with_function(13)])
def test_metadata_that_is_not_utf8_is_kept(model: onnx.ModelProto, tmp_path: Path) -> None:
    model.metadata_props.add(key="about", value="Tiere")
    latin = "Bären".encode("latin-1")
    export(model.SerializeToString().replace(b"Tiere", latin), tmp_path / "o.onnx")
    assert {entry.key: entry.value for entry in onnx.load(tmp_path / "o.onnx").metadata_props}[
        "about"
    ] == latin
