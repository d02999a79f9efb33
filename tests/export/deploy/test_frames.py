"""Frame in, picture out: the file's own preprocessing and overlay layer against the runtime's."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from fastcam_export import export, graft
from fastcam_export.errors import GraftError
from fastcam_runtime import Explainer
from fastcam_runtime.contract import RESIZE
from fastcam_runtime.draw import colormaps
from fastcam_runtime.errors import ModelError
from fastcam_runtime.preprocess import Preprocessor
from support.networks import small_cnn

CLIP = Path(__file__).parents[3] / "runtime/fastcam_runtime/sources/clip"


def frame(height: int, width: int) -> np.ndarray:
    return cv2.resize(cv2.imread(str(CLIP / "coffee.jpg")), (width, height))


def run(model: onnx.ModelProto, **feeds: np.ndarray) -> dict[str, np.ndarray]:
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("resize", RESIZE)
@pytest.mark.parametrize(("size", "kind"), [((480, 640), ""), ((96, 200), "xRGBA"), ((40, 50), "")])
def test_frame_gives_what_the_runtime_prepares(
    size: tuple[int, int], kind: str, resize: str, tmp_path: Path
) -> None:
    picture = frame(*size)
    options = {"resize": resize, "preprocess": "imagenet"}
    taken = graft(small_cnn(), frame_input=f"{size[0]}x{size[1]}{kind}", **options)
    export(small_cnn(), tmp_path / "plain.onnx", **options)
    explain = Explainer(tmp_path / "plain.onnx", compiled=False)
    image = explain.metadata.image
    taken.graph.output.append(onnx.helper.make_empty_tensor_value_info(image.name))
    colour = cv2.COLOR_BGR2RGBA if kind else cv2.COLOR_BGR2RGB
    found = run(taken, frame=cv2.cvtColor(picture, colour))
    assert list(found) == ["logits", "saliency_map", image.name]
    # The runtime rounds pixels to bytes after each step of resizing, the graph does not:
    # half a level at each of four roundings at most.
    wanted, _ = Preprocessor(image, explain.metadata.preprocess, resize)(picture)
    level = 1 / min(explain.metadata.preprocess.std)
    np.testing.assert_allclose(found[image.name], wanted, atol=2 * level, rtol=0)
    assert np.abs(found[image.name] - wanted).mean() < 0.5 * level
    # The rest of the graph is the same.
    same = run(onnx.load(tmp_path / "plain.onnx"), **{image.name: found[image.name]})
    for name in ("logits", "saliency_map"):
        np.testing.assert_allclose(found[name], same[name], atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("placement", ["centre", "corner"])
def test_letterbox_bars_of_a_given_gray(placement: str, tmp_path: Path) -> None:
    picture = frame(64, 32)
    gray = {"order": "BGR", "mean": [0, 1, 2], "std": [1, 2, 3], "pad": 114, "placement": placement}
    options = {"resize": "letterbox", "preprocess": gray}
    taken = graft(small_cnn(), frame_input="64x32", **options)
    taken.graph.output.append(onnx.helper.make_empty_tensor_value_info("input"))
    metadata = export(small_cnn(), tmp_path / "plain.onnx", **options).metadata
    wanted, _ = Preprocessor(metadata.image, metadata.preprocess, "letterbox")(picture)
    found = run(taken, frame=cv2.cvtColor(picture, cv2.COLOR_BGR2RGB))["input"]
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_frame_file_is_refused_by_the_runtime_in_one_line(tmp_path: Path) -> None:
    exported = export(small_cnn(), tmp_path / "frames.onnx", frame_input="48x64")
    assert exported.metadata.frame is not None
    assert (exported.metadata.frame.height, exported.metadata.frame.channels) == (48, 3)
    with pytest.raises(ModelError, match="preprocesses frames itself; export it without"):
        Explainer(tmp_path / "frames.onnx")


@pytest.mark.parametrize("text", ["48", "0x64", "48x64xBGR", "axb"])
def test_what_is_no_frame(text: str) -> None:
    with pytest.raises(GraftError, match="HEIGHTxWIDTH or HEIGHTxWIDTHxRGBA is needed"):
        graft(small_cnn(), frame_input=text)


def test_bytes_are_the_rounded_map() -> None:
    x = np.random.default_rng(0).random((2, 3, 64, 64), np.float32)
    found = run(graft(small_cnn(), map_output="uint8"), input=x[:1])
    np.testing.assert_array_equal(found["saliency_map_uint8"], np.rint(255 * found["saliency_map"]))


def test_layer_has_the_look_of_the_runtime() -> None:
    x = cv2.GaussianBlur(np.random.default_rng(0).random((64, 64, 3), np.float32), (9, 9), 0)
    found = run(graft(small_cnn(), map_output="rgba"), input=np.ascontiguousarray(x.transpose(2, 0, 1)[None]))
    assert list(found)[-2:] == ["saliency_map", "saliency_map_rgba"]  # as docs/mobile.md lists them
    layer, saliency = found["saliency_map_rgba"][0], found["saliency_map"][0]
    low, high = np.percentile(saliency, (50, 99.5))
    alpha = np.clip((saliency - low) / (high - low), 0, 1)
    np.testing.assert_allclose(layer[..., 3] / 255, alpha, atol=0.01)
    colours = colormaps.table(colormaps.DEFAULT).reshape(256, 3)[:, ::-1]
    np.testing.assert_array_equal(layer[..., :3], colours[layer[..., 3]])


def test_runtime_reads_a_file_with_a_layer_as_any_other(tmp_path: Path) -> None:
    export(small_cnn(), tmp_path / "model.onnx", map_output="rgba")
    export(small_cnn(), tmp_path / "plain.onnx")
    picture = frame(64, 64)
    found, wanted = (
        Explainer(tmp_path / name, compiled=False)(picture) for name in ("model.onnx", "plain.onnx")
    )
    assert list(found.maps) == list(wanted.maps)
    np.testing.assert_array_equal(found.maps["saliency_map"], wanted.maps["saliency_map"])
