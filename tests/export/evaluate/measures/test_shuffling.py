"""Weights shuffled from the head down, in the file itself."""

from __future__ import annotations

import fastcam_export
import numpy as np
import onnx
import pytest
from fastcam_export.evaluate.measures.shuffling import STEPS, has_weights, shuffled
from onnx import helper, numpy_helper
from onnxruntime import InferenceSession
from support.networks import small_cnn
from support.tiny_grafts import make_graft

WEIGHTS = ("w1", "w2", "w3", "w4")


def _changed(share: float) -> list[str]:
    model = fastcam_export.graft(small_cnn(), outputs="saliency_map,cam")
    before = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    after = {t.name: numpy_helper.to_array(t) for t in shuffled(model, share).graph.initializer}
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
    assert has_weights(model)
    before, after = (
        InferenceSession(each.SerializeToString(), providers=["CPUExecutionProvider"]).run(
            None, {"input": picture}
        )[0]
        for each in (model, shuffled(model, 1.0))
    )
    assert np.abs(before - after).max() > 0.1 * before.std()


def test_a_file_without_weights_says_so() -> None:
    assert not has_weights(make_graft())


def test_the_original_is_not_touched() -> None:
    model = fastcam_export.graft(small_cnn())
    before = model.SerializeToString()
    shuffled(model, 1.0)
    assert model.SerializeToString() == before
