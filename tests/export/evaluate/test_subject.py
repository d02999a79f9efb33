"""The file under evaluation: inputs of all types, and bounded memory."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from pathlib import Path

import fastcam_export
import numpy as np
import onnxruntime
import pytest
from fastcam_export.evaluate.subject import NoClassScores, Subject
from support.networks import small_cnn
from support.tiny_grafts import save_graft


@pytest.mark.parametrize(("side", "most"), [(64, 16), (512, 6)])
def test_versions_of_a_picture_are_made_when_they_are_needed(tmp_path: Path, side: int, most: int) -> None:
    path = tmp_path / "model.onnx"
    fastcam_export.export(small_cnn(f"float[N,3,{side},{side}] input"), path)
    subject, living, peak = Subject(path, threads=1), weakref.WeakSet[np.ndarray](), 0

    class Tracked(np.ndarray):
        __hash__ = object.__hash__  # for the set

    def versions() -> Iterator[np.ndarray]:
        nonlocal peak
        for value in range(40):
            one = np.full((3, side, side), value / 40, np.float32).view(Tracked)
            living.add(one)
            peak = max(peak, sum(1 for _ in living.data))
            yield one

    found = subject.probabilities(versions())
    assert len(found) == 40
    assert peak <= 2 * most + 1  # a batch, and the one before while the next is made
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for k in (0, 17, 39):
        feed = {"input": np.full((1, 3, side, side), k / 40, np.float32)}
        scores = np.exp(session.run(["logits"], feed)[0][0].astype(np.float64))
        np.testing.assert_allclose(found[k], scores / scores.sum(), rtol=1e-4)


def test_a_network_of_bytes_sees_the_nearest_bytes(tmp_path: Path) -> None:
    subject = Subject(save_graft(tmp_path / "model.onnx", dtype="uint8", head="one"), threads=1)
    tensors = [np.full((3, 32, 48), 7.0, np.float32), np.full((3, 32, 48), 7.0, np.float32)]
    tensors[0][0] = 6.6  # red: 7 in bytes, so the logit, red less blue, is 0
    tensors[1][2] = -3.0  # blue: 0, not 253
    found = subject.probabilities(tensors)[:, 0]
    assert found[0] == pytest.approx(0.5)
    assert found[1] > 0.9


def test_messages_name_the_file_as_the_user_does(tmp_path: Path) -> None:
    path = save_graft(tmp_path / "hidden.onnx", head="places", outputs=("saliency_map",))
    subject = Subject(path, threads=1, name="mine.onnx")
    with pytest.raises(NoClassScores, match=r"^mine\.onnx: its output 'logits' holds no class scores"):
        subject.probabilities([np.zeros((3, 32, 48), np.float32)])
