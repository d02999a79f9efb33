"""`fastcam quantize`: the int8 file, and whether its report is correct."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from fastcam_export.quantize.calibration import HELD_OUT, split
from fastcam_runtime.cli.main import main
from onnx import numpy_helper
from support.networks import small_cnn
from support.shared_data import shared


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    proto = small_cnn()
    proto.metadata_props.add(key="names", value=json.dumps([f"class {i}" for i in range(10)]))
    onnx.save(proto, path)
    return path


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    folder = tmp_path / "pictures"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for number in range(12):
        coarse = rng.integers(0, 256, (6, 8, 3), np.uint8)
        cv2.imwrite(str(folder / f"{number:02}.png"), cv2.resize(coarse, (96, 72)))
    return folder


def quantize(model: Path, pictures: Path, *options: str) -> tuple[Path, dict[str, Any]]:
    """Run the command; the int8 file and the report."""
    out, report = model.with_name("int8.onnx"), model.with_name("report.json")
    words = ["quantize", str(model), str(out), "--pictures", str(pictures), "--rounds", "6"]
    assert main([*words, "--threads", "1", "--json", str(report), *options]) == 0
    return out, json.loads(report.read_text())


def constants(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}


def weight_quantizers(model: onnx.ModelProto) -> list[onnx.NodeProto]:
    """The DequantizeLinear nodes of convolutions' weights."""
    weights = {node.input[1] for node in model.graph.node if node.op_type == "Conv"}
    return [
        node for node in model.graph.node if node.op_type == "DequantizeLinear" and node.output[0] in weights
    ]


@pytest.mark.slow
def test_weights_are_the_nearest_steps_of_one_scale_per_channel(model: Path, pictures: Path) -> None:
    out, _ = quantize(model, pictures)
    float_weights = [v for v in constants(onnx.load(model)).values() if v.ndim == 4]
    made = onnx.load(out)
    values = constants(made)
    found = weight_quantizers(made)
    assert len(found) == len(float_weights)
    for node in found:
        integers, scale, zero = (values[name] for name in node.input)
        assert scale.shape == (integers.shape[0],)
        assert not zero.any()
        assert np.abs(integers.astype(int)).max() <= 64, "7 bits: sums of two products fit into 16"
        steps = scale.reshape(-1, 1, 1, 1)
        same = [w for w in float_weights if w.shape == integers.shape]
        errors = [np.abs(integers * steps - weight) for weight in same]
        assert min(float((error / steps).max()) for error in errors) <= 0.5 + 1e-3


@pytest.mark.slow
def test_file_keeps_interface_and_metadata(model: Path, pictures: Path) -> None:
    out, _ = quantize(model, pictures)
    before, after = onnx.load(model), onnx.load(out)
    onnx.checker.check_model(after)
    assert [v.name for v in after.graph.input] == [v.name for v in before.graph.input]
    assert [v.name for v in after.graph.output] == [v.name for v in before.graph.output]
    assert after.metadata_props[0] == before.metadata_props[0]
    assert {entry.domain for entry in after.opset_import} == {""}


@pytest.mark.slow
def test_scores_stay_close_to_float32(model: Path, pictures: Path) -> None:
    out, _ = quantize(model, pictures)
    x = np.random.default_rng(1).standard_normal((1, 3, 64, 64)).astype(np.float32)
    plain, int8 = (ort.InferenceSession(str(path)).run(None, {"input": x})[0] for path in (model, out))
    assert np.corrcoef(plain.ravel(), int8.ravel())[0, 1] > 0.95


@pytest.mark.slow
def test_symmetric_has_all_zero_points_at_zero(model: Path, pictures: Path) -> None:
    out, _ = quantize(model, pictures, "--symmetric")
    made = onnx.load(out)
    values = constants(made)
    quantizers = [node for node in made.graph.node if node.op_type in ("QuantizeLinear", "DequantizeLinear")]
    assert quantizers
    assert all(not values[node.input[2]].any() for node in quantizers if len(node.input) > 2)


@pytest.mark.slow
def test_report_counts_held_out_pictures(model: Path, pictures: Path) -> None:
    out, report = quantize(model, pictures)
    assert report["held_out_pictures"] == 3
    assert report["calibrated_on"] == 9
    assert report["bytes"]["int8"] == out.stat().st_size
    assert 0 <= report["top1_agreement"] <= 1
    assert set(report["median_ms"]) == {"float32", "int8", "float32 with maps", "int8 with maps"}


def test_no_picture_is_in_both_parts() -> None:
    pictures = [np.full((1, 1, 3), i, np.uint8) for i in range(13)]
    seen, held_out = split(pictures)
    assert sorted(int(p[0, 0, 0]) for p in (*seen, *held_out)) == list(range(13))
    assert len(held_out) == -(-13 // HELD_OUT)


@pytest.mark.slow
def test_quantised_network_is_refused(
    model: Path, pictures: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, _ = quantize(model, pictures)
    capsys.readouterr()
    assert main(["quantize", str(out), str(model.with_name("again.onnx")), "--pictures", str(pictures)]) == 2
    assert "quantised already" in capsys.readouterr().err
    assert not model.with_name("again.onnx").exists()


def test_too_few_pictures_are_refused(
    model: Path, pictures: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = str(pictures / "00.png")
    assert main(["quantize", str(model), "--pictures", one]) == 2
    assert "1 picture: at least 4" in capsys.readouterr().err


@pytest.mark.slow
def test_mobilenet_keeps_its_classes(tmp_path: Path) -> None:
    photos = shared("photos")
    model = tmp_path / "mobilenet.onnx"
    model.write_bytes(shared("models/mobilenet_v2.onnx").read_bytes())
    _, report = quantize(model, photos, "--resize", "crop")
    assert report["top1_agreement"] >= 0.75
    assert report["map_mean"]["rank_correlation"] > 0.9
