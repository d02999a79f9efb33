"""The checks with shuffled weights, as a part of the whole evaluation."""

from __future__ import annotations

from pathlib import Path

import fastcam_export
import pytest
from fastcam_export.evaluate.evaluation import EvaluationRequest, begin, evaluate
from fastcam_export.evaluate.results import Evaluation
from fastcam_export.evaluate.subject import Subject
from support.networks import small_cnn


def _evaluate(path: Path, photos: Path, seed: int = 0) -> Evaluation:
    subject = Subject(path, threads=1)
    request = EvaluationRequest(sorted(photos.glob("*.png")), seed=seed)
    found = begin(subject, "model.onnx", request)
    evaluate(subject, request, found, lambda *_: None)
    return found


@pytest.mark.slow
def test_every_picture_has_a_shuffled_network_of_its_own(tmp_path: Path, photos: Path) -> None:
    """With one for all, equal pictures would have equal values, and the interval would be too narrow."""
    for k in range(1, 4):
        (photos / f"{k}.png").write_bytes((photos / "0.png").read_bytes())
    path = tmp_path / "g.onnx"
    fastcam_export.export(small_cnn(), path, outputs="saliency_map,cam")
    found, again, other = (_evaluate(path, photos, seed=seed) for seed in (0, 0, 1))
    for step in ("classifier", "all"):
        values = found.sanity[step]["cam"]
        assert len(set(values)) == 4
        assert values == again.sanity[step]["cam"] != other.sanity[step]["cam"]
    assert found.setup["shuffled_weights"].startswith("16 random orders")
