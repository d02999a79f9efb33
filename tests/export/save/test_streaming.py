"""Writing tensor by tensor gives the same model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from fastcam_export import graft
from fastcam_export.save.streaming import write_model
from onnx import parser
from support.networks import residual_net, small_cnn


def everything() -> onnx.ModelProto:
    model = graft(small_cnn())
    model.doc_string, model.producer_name, model.model_version = "doc", "somebody", 7
    model.graph.value_info.add(name="a1")
    return model


@pytest.mark.parametrize(
    "make",
    [small_cnn, residual_net, everything, lambda: onnx.ModelProto(ir_version=8), lambda: parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[1] x) => (float[1] y) { y = Relu (x) }')],
)  # fmt: skip
def test_what_is_read_back_equals_what_was_written(
    make: Callable[[], onnx.ModelProto], tmp_path: Path
) -> None:
    model = make()
    write_model(model, tmp_path / "m.onnx")
    back = onnx.ModelProto()
    back.ParseFromString((tmp_path / "m.onnx").read_bytes())
    if not model.HasField("graph"):
        back.ClearField("graph")
    assert back == model
