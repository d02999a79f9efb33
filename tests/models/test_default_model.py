"""The shipped file: its content, and whether it recognises objects."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import cv2
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from fastcam_models import default_model
from fastcam_runtime.contract import Preprocess
from fastcam_runtime.sources.test_clip import TestClip
from support.shared_data import shared

CARD = (default_model().parent / "README.md").read_text(encoding="utf-8")
SIZE = 224


@pytest.fixture(scope="module")
def model() -> onnx.ModelProto:
    return onnx.load(default_model())


@pytest.fixture(scope="module")
def session() -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    return ort.InferenceSession(default_model(), options, providers=["CPUExecutionProvider"])


def normalised(image: np.ndarray) -> np.ndarray:
    """A BGR picture of 224² as the network's input."""
    rgb = image[:, :, ::-1].astype(np.float32)
    return ((rgb - 127) / 128).transpose(2, 0, 1)


def stretch(image: np.ndarray) -> np.ndarray:
    return cv2.resize(image, (SIZE, SIZE), interpolation=cv2.INTER_LINEAR)


def crop(image: np.ndarray) -> np.ndarray:
    """Shorter side to 256, then the centre: how ImageNet is evaluated."""
    scale = SIZE / 0.875 / min(image.shape[:2])
    resized = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_LINEAR)
    top, left = ((side - SIZE) // 2 for side in resized.shape[:2])
    return resized[top : top + SIZE, left : left + SIZE]


def test_file_is_small_and_the_one_of_the_card() -> None:
    content = default_model().read_bytes()
    assert len(content) <= 10_000_000
    assert hashlib.sha256(content).hexdigest() in CARD


def test_graph_holds_only_the_network(model: onnx.ModelProto) -> None:
    onnx.checker.check_model(model, full_check=True)
    assert [(o.domain, o.version) for o in model.opset_import] == [("", 17)]
    assert model.ir_version == 8
    assert {node.op_type for node in model.graph.node} == {
        "Add", "Cast", "Clip", "Conv", "Flatten", "Gemm", "GlobalAveragePool"
    }  # fmt: skip
    constants = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Clip":
            assert [float(constants[name]) for name in node.input[1:]] == [0, 6]
    used = {name for node in model.graph.node for name in node.input}
    assert set(constants) <= used


def test_no_trace_of_where_it_was_made(model: onnx.ModelProto) -> None:
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    del bare.graph.initializer[:]  # among nine million bytes of weights any three letters occur
    text = str(bare)
    for trace in ("/home", "/tmp", "/root", "/usr", ".py", "site-packages", "stack_trace", "doc_string"):
        assert trace not in text
    assert {entry.key for entry in bare.metadata_props} == {"names", "preprocess", "weights", "license"}
    holders = [bare.graph, *bare.graph.node, *bare.graph.value_info, *bare.graph.input, *bare.graph.output]
    assert not any(holder.metadata_props for holder in holders)
    # A node has the same name as its output.
    assert all(
        node.name == node.output[0] for node in bare.graph.node if node.op_type in ("Conv", "Clip", "Add")
    )


def test_metadata_names_the_classes_and_the_preprocessing(session: ort.InferenceSession) -> None:
    metadata = session.get_modelmeta().custom_metadata_map
    labels = (default_model().parent / "imagenet_labels.txt").read_text(encoding="utf-8").splitlines()
    assert json.loads(metadata["names"]) == labels
    assert (len(labels), labels[285], labels[967]) == (1000, "Egyptian cat", "espresso")
    fields = {
        key: tuple(v) if isinstance(v, list) else v for key, v in json.loads(metadata["preprocess"]).items()
    }
    assert Preprocess(**fields) == Preprocess("RGB", (127, 127, 127), (128, 128, 128))
    assert metadata["license"] == "Apache-2.0"


def test_casts_are_folded_when_it_is_loaded(tmp_path: Path) -> None:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(tmp_path / "optimised.onnx")
    ort.InferenceSession(default_model(), options, providers=["CPUExecutionProvider"])
    optimised = onnx.load(tmp_path / "optimised.onnx")
    assert "Conv" in {node.op_type for node in optimised.graph.node}
    assert "Cast" not in {node.op_type for node in optimised.graph.node}
    types = {t.data_type for t in optimised.graph.initializer if len(t.dims) > 1}
    assert types == {onnx.TensorProto.FLOAT}


def test_batch_is_free(session: ort.InferenceSession) -> None:
    (image,), (scores,) = session.get_inputs(), session.get_outputs()
    assert (image.name, image.type, image.shape) == ("input", "tensor(float)", ["batch", 3, SIZE, SIZE])
    assert (scores.name, scores.type, scores.shape) == ("logits", "tensor(float)", ["batch", 1000])
    clip = TestClip(size=(SIZE, SIZE))
    batch = np.stack([normalised(clip.render(index)) for index in (10, 100, 200)])
    (together,) = session.run(None, {"input": batch})
    alone = np.concatenate([session.run(None, {"input": item[None]})[0] for item in batch])
    np.testing.assert_allclose(together, alone, atol=1e-4)


@pytest.mark.slow
def test_clip_is_a_cat_and_then_an_espresso(session: ort.InferenceSession) -> None:
    clip = TestClip()
    seen = {"chelsea.jpg": set(), "coffee.jpg": set()}
    for index in range(0, 300, 5):
        crop = clip.crops(index)[0]
        if crop.opacity == 1:
            (logits,) = session.run(None, {"input": normalised(stretch(clip.render(index)))[None]})
            seen[crop.photo].add(int(logits.argmax()))
    assert seen == {"chelsea.jpg": {285}, "coffee.jpg": {967}}


@pytest.mark.slow
@pytest.mark.parametrize("resize", [crop, stretch])
def test_accuracy_is_the_one_of_the_card(session: ort.InferenceSession, resize: object) -> None:
    assert callable(resize)
    paths = sorted(shared("photos").glob("[0-9]*.jpg"))
    classes = np.array([int(path.name[:3]) for path in paths])
    inputs = np.stack([normalised(resize(cv2.imread(str(path)))) for path in paths])
    logits = np.concatenate([session.run(None, {"input": item[None]})[0] for item in inputs])
    better = (logits > logits[np.arange(len(paths)), classes][:, None]).sum(axis=1)
    told = re.search(rf"\| {resize.__name__}[^|]*\| (\d+) \| (\d+) \|", CARD)
    assert told is not None
    assert [(better == 0).sum(), (better < 5).sum()] == [int(told[1]), int(told[2])]
