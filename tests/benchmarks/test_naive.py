"""The naive graft against the float64 oracle: the exporter's maps are checked against it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from fastcam_export import export
from support.networks import small_cnn
from support.oracle import method

from benchmarks.measuring.naive import graft_naively


@pytest.mark.parametrize("opset", [17, 18])
def test_naive_map_equals_the_oracle(opset: int, tmp_path: Path) -> None:
    plain, naive = tmp_path / "plain.onnx", tmp_path / "naive.onnx"
    onnx.save(small_cnn(opset=opset), plain)
    metadata = export(plain, tmp_path / "grafted.onnx").metadata
    graft_naively(plain, naive, metadata)
    onnx.checker.check_model(str(naive))

    model = onnx.load(naive)
    model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(tap.name) for tap in metadata.taps)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    picture = np.random.default_rng(3).standard_normal((1, 3, 64, 64)).astype(np.float32)
    found, *taps = session.run(["saliency_map", *(tap.name for tap in metadata.taps)], {"input": picture})
    maps = [method.gauss(method.smoe(tap, metadata.epsilon)) for tap in taps]
    expected = method.combine(maps, [tap.weight for tap in metadata.taps], 64, 64)
    assert found.shape == (1, 64, 64)
    assert np.abs(found - expected).max() <= 1e-5
