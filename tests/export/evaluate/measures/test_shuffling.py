"""Weights shuffled from the head down, in the file itself."""

from __future__ import annotations

from pathlib import Path

import fastcam_export
import numpy as np
import onnx
import pytest
from fastcam_export.evaluate.measures.shuffling import STEPS, Shuffler, load_whole
from onnx import helper, numpy_helper
from onnxruntime import InferenceSession
from support.networks import small_cnn
from support.tiny_grafts import make_graft

WEIGHTS = ("w1", "w2", "w3", "w4")


def _shuffled(model: onnx.ModelProto, share: float) -> onnx.ModelProto:
    return onnx.load_model_from_string(Shuffler(model).file(share, 4))


def _changed(share: float) -> list[str]:
    model = fastcam_export.graft(small_cnn(), outputs="saliency_map,cam")
    before = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    after = {t.name: numpy_helper.to_array(t) for t in _shuffled(model, share).graph.initializer}
    assert before.keys() == after.keys()
    changed = [name for name in before if not np.array_equal(before[name], after[name])]
    for name in changed:
        assert np.array_equal(np.sort(before[name], axis=None), np.sort(after[name], axis=None))
    return changed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "expected"),
    [("classifier", {"w4"}), ("last quarter", {"w4"}), ("last half", {"w3", "w4"}), ("all", set(WEIGHTS))],
)
def test_each_step_shuffles_the_values_of_the_last_weights_only(step: str, expected: set[str]) -> None:
    assert set(_changed(STEPS[step])) == expected


def test_weights_in_constant_nodes_are_shuffled_too() -> None:
    model = small_cnn()
    constants = [helper.make_node("Constant", [], [t.name], value=t) for t in model.graph.initializer]
    nodes = [*constants, *model.graph.node]
    del model.graph.node[:], model.graph.initializer[:]
    model.graph.node.extend(nodes)
    onnx.checker.check_model(model)
    picture = np.random.default_rng(0).standard_normal((1, 3, 64, 64)).astype(np.float32)
    assert Shuffler(model).has_weights
    before, after = (
        InferenceSession(each.SerializeToString(), providers=["CPUExecutionProvider"]).run(
            None, {"input": picture}
        )[0]
        for each in (model, _shuffled(model, 1.0))
    )
    assert np.abs(before - after).max() > 0.1 * before.std()


def test_a_file_without_weights_says_so() -> None:
    assert not Shuffler(make_graft()).has_weights


def test_the_original_is_not_touched() -> None:
    model = fastcam_export.graft(small_cnn())
    before = model.SerializeToString()
    _shuffled(model, 1.0)
    assert model.SerializeToString() == before
    copies = [Shuffler(model).file(1.0, seed) for seed in ((0, 1), (0, 2), (0, 1))]
    assert copies[0] == copies[2] != copies[1]
    assert model.SerializeToString() == before


def test_weights_beside_the_file_are_read_and_maps_that_are_not_needed_are_not(tmp_path: Path) -> None:
    fastcam_export.export(small_cnn(), tmp_path / "g.onnx", outputs="saliency_map,lovi")
    model, path = onnx.load(tmp_path / "g.onnx"), tmp_path / "beside.onnx"
    onnx.save(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)  # changes model
    whole = load_whole(path, ["saliency_map"])
    assert [output.name for output in whole.graph.output] == ["logits", "saliency_map"]
    picture = np.random.default_rng(0).standard_normal((1, 3, 64, 64)).astype(np.float32)
    session = InferenceSession(Shuffler(whole).file(1.0, 4), providers=["CPUExecutionProvider"])
    plain = onnx.load(tmp_path / "g.onnx")
    same = InferenceSession(_shuffled(plain, 1.0).SerializeToString(), providers=["CPUExecutionProvider"])
    found, expected = (one.run(["logits"], {"input": picture})[0] for one in (session, same))
    assert found == pytest.approx(expected, rel=1e-4)
