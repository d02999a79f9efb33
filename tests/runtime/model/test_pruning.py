"""Pruning maps: kept outputs do not change, others are gone, and damaged files do not crash."""

from __future__ import annotations

import itertools
from contextlib import suppress
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from fastcam_runtime import ModelError, contract
from fastcam_runtime.limits import MAX_DEPTH
from fastcam_runtime.model.file import summarize
from fastcam_runtime.model.protobuf import text_field
from fastcam_runtime.model.pruning import cut, cut_file, is_saliency_output
from fastcam_runtime.model.session import open_session
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from support.tiny_grafts import make_graft

MODEL = make_graft(batch="n")
BYTES = MODEL.SerializeToString()
MAPS = tuple(o.name for o in MODEL.graph.output if is_saliency_output(o.name))


def run(model: bytes, feed: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, feed), strict=True))


def test_graphs_inside_graphs_are_limited() -> None:
    """Three thousand of them ended in an error of recursion."""
    graph = b""
    for _ in range(3000):
        graph = text_field(1, text_field(5, text_field(6, graph)))
    with pytest.raises(ModelError, match=f"its graphs are nested more than {MAX_DEPTH} deep"):
        cut(BYTES + text_field(7, graph), ())


@pytest.mark.parametrize("keep", [(), *((name,) for name in MAPS), MAPS[:2], MAPS], ids="+".join)
def test_kept_outputs_are_equal_and_others_gone(keep: tuple[str, ...]) -> None:
    feed = {"image": np.random.default_rng(0).random((2, 3, 32, 48), np.float32)}
    smaller = onnx.load_from_string(cut(BYTES, keep))
    onnx.checker.check_model(smaller, full_check=True)
    got, whole = run(smaller.SerializeToString(), feed), run(BYTES, feed)
    assert set(got) == {"logits", *keep}
    for name, value in got.items():
        np.testing.assert_array_equal(value, whole[name])
    assert smaller.metadata_props == MODEL.metadata_props


def test_nothing_of_the_graft_is_left_when_nothing_is_kept() -> None:
    plain = make_graft(batch="n", graft=False)
    smaller = onnx.load_from_string(cut(BYTES))
    assert smaller.graph == plain.graph


def test_the_class_input_goes_only_with_its_readers() -> None:
    with_cam = onnx.load_from_string(cut(BYTES, [contract.CAM]))
    without = onnx.load_from_string(cut(BYTES, [contract.MAP]))
    assert [value.name for value in with_cam.graph.input] == ["image", contract.CLASS_INPUT]
    assert [value.name for value in without.graph.input] == ["image"]


def test_the_network_may_read_what_the_graft_reads_in_a_subgraph() -> None:
    """A weight that only the body of an If uses must outlive the grafted node that also used it."""
    then, other = (
        helper.make_graph(
            [helper.make_node(op, ["x", "weight"], [name], name)],
            name,
            [],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2])],
        )
        for op, name in (("Add", "sum"), ("Mul", "product"))
    )
    graph = helper.make_graph(
        [
            helper.make_node("If", ["flag"], ["y"], "choice", then_branch=then, else_branch=other),
            helper.make_node("Sub", ["x", "weight"], [contract.MAP], contract.NODE_PREFIX + "sub"),
        ],
        "outer",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]),
            helper.make_tensor_value_info("flag", TensorProto.BOOL, []),
        ],
        [
            helper.make_tensor_value_info("y", TensorProto.FLOAT, [2]),
            helper.make_tensor_value_info(contract.MAP, TensorProto.FLOAT, [2]),
        ],
        [numpy_helper.from_array(np.float32([3, 4]), "weight")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    smaller = cut(model.SerializeToString())
    feed = {"x": np.float32([1, 2]), "flag": np.array(False)}
    np.testing.assert_array_equal(run(smaller, feed)["y"], [3, 8])


def test_external_weights_are_found_beside_the_file(tmp_path: Path) -> None:
    path = tmp_path / "external.onnx"
    model = make_graft(work=3)
    whole = model.SerializeToString()
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=1000)
    assert (tmp_path / "weights.bin").exists()
    feed = {"image": np.random.default_rng(0).random((1, 3, 32, 48), np.float32)}
    session = open_session(path, data=cut_file(path), threads=1, provider="cpu")
    np.testing.assert_array_equal(session.run(["logits"], feed)[0], run(whole, feed)["logits"])


def test_summary() -> None:
    summary = summarize(BYTES)
    assert summary.outputs == ("logits", *MAPS)
    assert summary.metadata["author"] == "somebody"
    assert contract.METADATA_KEY in summary.metadata


@pytest.mark.parametrize(
    ("name", "is_ours"),
    [
        ("saliency_map", True),
        ("saliency_scale_12", True),
        ("saliency_scale_", False),
        ("saliency_scale_x", False),
        ("saliency_mapping", False),
        ("logits", False),
    ],
)
def test_names_of_the_contract(name: str, is_ours: bool) -> None:
    assert is_saliency_output(name) is is_ours


@pytest.mark.parametrize("read", [cut, summarize])
def test_truncated_bytes_never_crash(read: object) -> None:
    for end in itertools.chain(range(200), range(200, len(BYTES), 11)):
        try:
            read(BYTES[:end])  # type: ignore[operator]
        except ModelError:
            continue
        # A prefix that parses ends exactly between two fields, with a complete graph.
        assert onnx.load_from_string(BYTES[:end]).graph.node


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.data())
def test_damaged_bytes_never_crash(data: st.DataObject) -> None:
    damaged = bytearray(BYTES)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    with suppress(ModelError):
        cut(bytes(damaged), [contract.MAP])
    with suppress(ModelError):
        summarize(bytes(damaged))


@given(st.binary(max_size=200))
def test_any_bytes_never_crash(data: bytes) -> None:
    with suppress(ModelError):
        cut(data)
