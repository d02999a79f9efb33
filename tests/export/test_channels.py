"""Networks that take 2 or 4 channels, with a stated preprocessing."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import onnx
import pytest
from fastcam_export import export
from fastcam_runtime import Explainer
from fastcam_runtime.cli.main import main
from support.networks import network

HEAD = np.random.default_rng(1).standard_normal((8, 5)).astype(np.float32)
RGBA = {"order": "RGBA", "mean": [0] * 4, "std": [255] * 4}


def of_channels(channels: int, layout: str = "NCHW") -> tuple[onnx.ModelProto, np.ndarray]:
    """Conv, ReLU, mean, linear; and the weights of the Conv."""
    weights = np.random.default_rng(2).standard_normal((8, channels, 3, 3)).astype(np.float32)
    planar = layout == "NCHW"
    body = f"""
        {"t = Identity (input)" if planar else "t = Transpose <perm=[0,3,1,2]> (input)"}
        c = Conv <strides=[2,2], pads=[1,1,1,1]> (t, w)
        a = Relu (c)
        g = GlobalAveragePool (a)
        f = Flatten (g)
        logits = MatMul (f, h)
    """
    size = f"{channels},32,32" if planar else f"32,32,{channels}"
    inputs = f"float[1,{size}] input"
    return network(body, inputs=inputs, output="float[1,5] logits", w=weights, h=HEAD), weights


@pytest.mark.slow
@pytest.mark.parametrize(("channels", "order"), [(2, "AS_IS"), (4, "AS_IS"), (4, "RGBA"), (4, "BGRA")])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_two_and_four_channels_with_a_stated_preprocessing(
    channels: int, order: str, layout: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, weights = of_channels(channels, layout)
    plain, grafted = tmp_path / "plain.onnx", tmp_path / "grafted.onnx"
    onnx.save(model, plain)
    assert main(["export", str(plain), str(grafted)]) == 2
    assert f"nothing says what the {channels} channels of the image input are" in capsys.readouterr().err
    assert main(["inspect", str(plain)]) == 0
    assert "preprocess  not known: nothing says what" in capsys.readouterr().out
    mean, std = [10.0, 20.0, 30.0, 40.0][:channels], [50.0, 60.0, 70.0, 80.0][:channels]
    export(plain, grafted, preprocess={"order": order, "mean": mean, "std": std}, outputs="all")
    assert main(["inspect", str(grafted)]) == 0
    assert f"preprocess  {order} (x − [10, 20" in capsys.readouterr().out
    pixels = np.random.default_rng(3).integers(0, 256, (32, 32, channels), np.uint8)
    result = Explainer(grafted)(pixels)
    seen = pixels[..., [2, 1, 0, 3]] if order == "RGBA" else pixels
    tensor = ((seen.astype(np.float64) - mean) / std).transpose(2, 0, 1)
    padded = np.pad(tensor, ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))[:, ::2, ::2]
    active = np.maximum(np.einsum("chwij,ocij->ohw", windows, weights), 0)
    np.testing.assert_allclose(result.logits, active.mean(axis=(1, 2)) @ HEAD, rtol=1e-4)
    assert result.maps["saliency_map"].shape == (32, 32)


def test_a_stated_preprocessing_must_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    onnx.save(of_channels(2)[0], tmp_path / "plain.onnx")
    assert main(["export", str(tmp_path / "plain.onnx"), "--preprocess", "unit"]) == 2
    error = capsys.readouterr().err
    assert "preprocess RGB does not fit an input of 2 channels; state it, e.g. --preprocess" in error
    stated = json.loads(error[error.index("{") : error.index("}") + 1])
    export(tmp_path / "plain.onnx", tmp_path / "grafted.onnx", preprocess=stated)


def test_what_onnx_calls_rgba_is_rgba(tmp_path: Path) -> None:
    model = of_channels(4)[0]
    model.metadata_props.add(key="Image.BitmapPixelFormat", value="Bgra8")
    model.metadata_props.add(key="Image.NominalPixelRange", value="Normalized_0_1")
    found = export(model, tmp_path / "grafted.onnx").metadata
    assert (found.preprocess.order, found.preprocess.std) == ("BGRA", (255.0,) * 4)


def test_run_feeds_the_opacity_of_a_picture(tmp_path: Path) -> None:
    grafted, picture, lines = tmp_path / "grafted.onnx", tmp_path / "a.png", tmp_path / "lines.jsonl"
    export(of_channels(4)[0], grafted, preprocess=RGBA)
    pixels = np.random.default_rng(3).integers(0, 256, (32, 32, 4), np.uint8)
    cv2.imwrite(str(picture), pixels)
    assert main(["run", str(grafted), str(picture), str(tmp_path / "out.png"), "--jsonl", str(lines)]) == 0
    told = json.loads(lines.read_text().splitlines()[0])
    explain = Explainer(grafted)
    assert told["score"] == pytest.approx(explain(pixels).score, abs=1e-3)
    opaque = np.dstack([pixels[..., :3], np.full((32, 32), 255, np.uint8)])
    np.testing.assert_array_equal(explain(pixels[..., :3]).logits, explain(opaque).logits)
    assert explain(opaque).score != pytest.approx(told["score"], abs=1e-3)


def test_run_says_that_frames_have_no_such_channels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grafted = tmp_path / "grafted.onnx"
    stated = {"order": "AS_IS", "mean": [0, 0], "std": [1, 1]}
    export(of_channels(2)[0], grafted, preprocess=stated)
    assert main(["run", str(grafted), "test://", "null://", "--frames", "1"]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert "the network takes arrays H×W×2, whose channels are no colours, not a frame of 480×640×3" in error
