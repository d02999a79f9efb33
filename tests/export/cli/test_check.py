"""`fastcam check` finds the preprocessing that a network was trained with."""

from __future__ import annotations

from pathlib import Path

import cv2
import fastcam_export
import numpy as np
import onnx
import pytest
from fastcam_export import fitting
from fastcam_runtime.cli.main import main
from fastcam_runtime.contract import OUTPUTS, PREPROCESS, ImageInput
from fastcam_runtime.preprocess import Preprocessor
from support.networks import network, small_cnn
from support.shared_data import shared

COLOURS = {"red": (0, 0, 255), "green": (0, 255, 0), "blue": (255, 0, 0)}


def colour_classifier() -> onnx.ModelProto:
    """Names the strongest of red, green and blue, fed in this order as 0…255."""
    middle = np.zeros((3, 3, 3, 3), np.float32)
    middle[range(3), range(3), 1, 1] = 1
    return network(
        """
        c1 = Conv <kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]> (input, w1)
        a1 = Relu (c1)
        pooled = GlobalAveragePool (a1)
        flat = Flatten (pooled)
        logits = Gemm <transB=1> (flat, w2)
        """,
        inputs="float[1,3,32,32] input", output="float[1,3] logits",
        w1=middle, w2=np.eye(3, dtype=np.float32) / 50,
    )  # fmt: skip


@pytest.fixture
def model(tmp_path: Path) -> Path:
    proto = colour_classifier()
    proto.metadata_props.add(key="names", value=str(list(COLOURS)))
    onnx.save(proto, tmp_path / "colours.onnx")
    return tmp_path / "colours.onnx"


def photos(folder: Path) -> Path:
    for name, colour in COLOURS.items():
        (folder / name).mkdir(parents=True)
        cv2.imwrite(str(folder / name / "1.png"), np.full((40, 60, 3), colour, np.uint8))
    return folder


def test_folders_named_after_classes(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(model), str(photos(tmp_path / "in"))]) == 0
    printed = capsys.readouterr().out
    best = next(line for line in printed.splitlines() if line.startswith("best"))
    assert "RGB" in best
    assert "3/3" in best
    assert "3 photos; use: --preprocess raw255 --resize stretch" in printed


def test_an_expected_class_decides_the_order(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    red = photos(tmp_path / "in") / "red" / "1.png"
    assert main(["check", str(model), str(red), "--expect", "blue"]) == 0
    assert '{"order": "BGR"' in capsys.readouterr().out


def test_mistakes(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    red = photos(tmp_path / "in") / "red" / "1.png"
    assert main(["check", str(model), str(red), "--expect", "gren"]) == 2
    assert "no class 'gren'; closest: green" in capsys.readouterr().err
    assert main(["check", str(model), str(tmp_path / "none.jpg")]) == 2
    assert "none.jpg" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "option"),
    [
        ("mobilenet_v2.onnx", "--preprocess imagenet --resize crop"),
        ("squeezenet1_1-fp16.onnx", '--preprocess \'{"order": "BGR", "mean": [103.939, 116.779, 123.68], '),
    ],
)
def test_real_networks(file: str, option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "in"
    for photo in sorted(shared("photos").glob("[0-9]*.jpg"))[::6]:
        (folder / str(int(photo.name[:3]))).mkdir(parents=True)
        (folder / str(int(photo.name[:3])) / "1.jpg").symlink_to(photo)
    assert main(["check", str(shared(f"models/{file}")), str(folder)]) == 0
    assert f"use: {option}" in capsys.readouterr().out


def test_small_things(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "check" in capsys.readouterr().out
    with pytest.raises(fastcam_export.GraftError, match="no option named 'outputz'; closest: outputs"):
        fastcam_export.graft(small_cnn(), outputz="cam")
    assert set(fastcam_export.Options(outputs="all").outputs) == set(OUTPUTS)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_photos_are_kept_in_the_size_of_the_input(layout: str) -> None:
    """Sixty photos of a telephone would take 2 GB. What the network gets is the same."""
    pixels = np.random.default_rng(0).integers(0, 256, (301, 400, 3), np.uint8)
    image = ImageInput("input", layout, 3, 48, 64)
    photo = fitting.Photo.of(pixels, image, None)
    for resize, view in photo.views.items():
        assert view.shape == (48, 64, 3)
        assert view.base is None or view.base.nbytes <= 48 * 64 * 3
        preset = PREPROCESS["imagenet"]
        whole, small = Preprocessor(image, preset, resize), Preprocessor(image, preset)
        np.testing.assert_array_equal(whole(pixels)[0], small(view)[0])
