"""Which tensors are shuffled: weights, never indices, and whether the classifier is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import fastcam_export
import numpy as np
import onnx
import pytest
from fastcam_export.evaluate.measures.shuffling import LAST, STEPS, Shuffler
from fastcam_export.evaluate.measures.weights import Weights
from fastcam_runtime.contract import METADATA_KEY, Metadata
from fastcam_runtime.detect.head import Head
from onnx import helper
from onnxruntime import InferenceSession
from support.networks import network, small_cnn

RANDOM = np.random.default_rng(0)


def _weights(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def _names(tensors: list[onnx.TensorProto]) -> list[str]:
    return [tensor.name for tensor in tensors]


def _with_head(model: onnx.ModelProto, **head: object) -> onnx.ModelProto:
    """The model with the metadata of a detector."""
    graft = fastcam_export.graft(small_cnn())
    metadata = Metadata.from_json(graft.metadata_props[0].value)
    tap = replace(metadata.taps[0], name="features")
    fields = {"layout": "rows", "classes": 7, "boxes": ("out",), "scores": ("out",), **head}
    changed = replace(metadata, detector=Head(**fields), taps=(tap,), scores="out")  # type: ignore[arg-type]
    helper.set_model_props(model, {METADATA_KEY: changed.to_json()})
    return model


def _detector(output: str) -> onnx.ModelProto:
    """Boxes and scores of seven classes by layers of their own; prior boxes are used last."""
    return network(
        """
        features = Conv (input, trunk)
        classes = Conv (features, class_weight)
        raw = Conv (features, box_weight)
        boxes = Mul (raw, priors)
        out = Concat <axis=1> (boxes, classes)
        """,
        inputs="float[1,3,8,8] input", output=output,
        trunk=_weights(5, 3, 1, 1), class_weight=_weights(7, 5, 1, 1), box_weight=_weights(4, 5, 1, 1),
        priors=_weights(1, 4, 8, 8),
    )  # fmt: skip


def test_the_classifier_of_a_detector_is_what_gives_its_class_scores() -> None:
    joint = "float[1,11,8,8] out"
    assert _names(Weights.of(_with_head(_detector(joint))).last) == ["class_weight"]
    apart = _detector("float[1,7,8,8] classes")
    found = Weights.of(_with_head(apart, scores=("classes",), boxes=("boxes",)))
    assert _names(found.last) == ["class_weight"]
    assert _names(found.every) == ["trunk", "class_weight"]  # nothing that only the boxes need


def test_without_a_layer_for_the_classes_it_is_called_the_last_weights() -> None:
    shuffler = Shuffler(_with_head(_detector("float[1,11,8,8] out"), classes=9))
    assert list(shuffler.steps) == [LAST, *list(STEPS)[1:]]
    assert list(Shuffler(small_cnn()).steps) == list(STEPS)


def test_the_classifier_of_one_logit_counts() -> None:
    model = network(
        """
        features = Conv (input, trunk)
        pooled = GlobalAveragePool (features)
        flat = Flatten (pooled)
        logits = MatMul (flat, classifier)
        """,
        inputs="float[1,3,8,8] input", output="float[N,1] logits",
        trunk=_weights(5, 3, 1, 1), classifier=_weights(5, 1),
    )  # fmt: skip
    assert _names(Weights.of(model).last) == ["classifier"]
    after = onnx.load_model_from_string(Shuffler(model).file(0.0, 1))
    before, shuffled = (one.graph.initializer[1].raw_data for one in (model, after))
    assert before != shuffled


def test_quantised_weights_are_found_behind_their_scales() -> None:
    model = network(
        """
        back = DequantizeLinear (stored, scale)
        turned = Transpose <perm=[1, 0]> (back)
        pooled = GlobalAveragePool (input)
        flat = Flatten (pooled)
        raw = MatMul (flat, turned)
        logits = Softmax (raw)
        """,
        inputs="float[1,3,8,8] input", output="float[N,4] logits",
        stored=RANDOM.integers(-9, 9, (4, 3), np.int8), scale=np.float32(0.1),
    )  # fmt: skip
    found = Weights.of(model)
    assert _names(found.last) == _names(found.every) == ["stored"]


@pytest.mark.parametrize(
    "body",
    [
        "rows = GatherND (input, places)\n shape = Shape (input)\n tall = Reshape (rows, shape)",
        "flat = Reshape (table, minus)\n tall = Reshape (input, flat)",
    ],
)
def test_indices_and_shapes_stay_as_they_are(body: str, tmp_path: Path) -> None:
    """A file with shuffled indices or shapes cannot be run, or computes something else."""
    everything = np.array([[0, c] for c in range(3)], np.int64)[None]
    model = network(
        f"{body}\n features = Conv (tall, trunk)\n logits = GlobalAveragePool (features)",
        inputs="float[1,3,8,8] input", output="float[1,5,1,1] logits",
        trunk=_weights(5, 3, 1, 1), places=everything,
        table=np.array([[1, 3], [8, 8]], np.int64), minus=np.array([-1], np.int64),
    )  # fmt: skip
    assert _names(Weights.of(model).every) == ["trunk"]
    session = InferenceSession(Shuffler(model).file(1.0, 0), providers=["CPUExecutionProvider"])
    assert session.run(None, {"input": np.ones((1, 3, 8, 8), np.float32)})[0].shape == (1, 5, 1, 1)


def test_constants_without_a_name_of_their_own_are_told_apart() -> None:
    model = small_cnn()
    constants = [helper.make_node("Constant", [], [t.name], value=t) for t in model.graph.initializer]
    for node in constants:
        node.attribute[0].t.name = "value"
    nodes = [*constants, *model.graph.node]
    del model.graph.node[:], model.graph.initializer[:]
    model.graph.node.extend(nodes)
    assert len(Weights.of(model).every) == 4
