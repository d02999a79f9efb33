"""Weights shuffled from the head down, in the file itself."""

from __future__ import annotations

import fastcam_export
import numpy as np
import pytest
from fastcam_export.evaluate.shuffling import STEPS, shuffled
from onnx import numpy_helper
from support.networks import small_cnn

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


def test_the_original_is_not_touched() -> None:
    model = fastcam_export.graft(small_cnn())
    before = model.SerializeToString()
    shuffled(model, 1.0)
    assert model.SerializeToString() == before
