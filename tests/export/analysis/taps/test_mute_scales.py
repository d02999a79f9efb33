"""A tensor whose statistic is constant is not a scale, and a regression is not a score."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from fastcam_export import GraftError, graft
from fastcam_runtime.classes import are_class_scores
from fastcam_runtime.contract import METADATA_KEY, Metadata
from support.networks import network


def text_detector() -> onnx.ModelProto:
    """Like PP-OCR's: two scales, then one channel of probabilities, gated into the last features."""
    random = np.random.default_rng(0)
    return network(
        """
        c1 = Conv <kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]> (input, w1)
        a1 = Relu (c1)
        c2 = Conv <kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]> (a1, w2)
        a2 = Relu (c2)
        c3 = Conv <kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]> (a2, w3)
        gate = Relu (c3)
        up = ConvTranspose <kernel_shape=[2,2], strides=[2,2]> (gate, w4)
        map = Sigmoid (up)
        """,
        inputs="float[1,3,64,64] input", output="float[1,1,16,16] map",
        w1=random.standard_normal((8, 3, 3, 3)).astype(np.float32),
        w2=random.standard_normal((8, 8, 3, 3)).astype(np.float32),
        w3=random.standard_normal((1, 8, 3, 3)).astype(np.float32),
        w4=random.standard_normal((1, 1, 2, 2)).astype(np.float32),
    )  # fmt: skip


def metadata(model: onnx.ModelProto) -> Metadata:
    own = {entry.key: entry.value for entry in model.metadata_props}
    return Metadata.from_json(own[METADATA_KEY])


def test_one_channel_and_the_answer_are_no_scales() -> None:
    taps = metadata(graft(text_detector())).taps
    assert [(tap.name, tap.weight) for tap in taps] == [("a1", 1.0), ("a2", 2.0)]


def test_a_mean_reads_one_channel() -> None:
    taps = metadata(graft(text_detector(), statistic="mean")).taps
    assert [tap.name for tap in taps] == ["a1", "a2", "gate"]


def test_a_named_tap_of_one_channel_is_refused() -> None:
    with pytest.raises(GraftError, match="'gate' has 1 channel"):
        graft(text_detector(), taps="a1,gate")


def two_heads(first: str) -> onnx.ModelProto:
    """Like MTCNN's r-net: four numbers of a box and two probabilities."""
    random = np.random.default_rng(0)
    outputs = {"box": "float[1,4] box", "prob": "float[1,2] prob"}
    order = [first, *(name for name in outputs if name != first)]
    return network(
        """
        c1 = Conv <kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]> (input, w1)
        a1 = Relu (c1)
        pooled = GlobalAveragePool (a1)
        flat = Flatten (pooled)
        box = Gemm <transB=1> (flat, w2)
        logits = Gemm <transB=1> (flat, w3)
        prob = Softmax (logits)
        """,
        inputs="float[1,3,24,24] input", output=", ".join(outputs[name] for name in order),
        w1=random.standard_normal((8, 3, 3, 3)).astype(np.float32),
        w2=random.standard_normal((4, 8)).astype(np.float32),
        w3=random.standard_normal((2, 8)).astype(np.float32),
    )  # fmt: skip


@pytest.mark.parametrize("first", ["box", "prob"])
def test_probabilities_come_before_a_regression(first: str) -> None:
    found = metadata(graft(two_heads(first)))
    assert (found.scores, found.scores_are) == ("prob", "probabilities")


def test_the_user_names_the_scores() -> None:
    assert metadata(graft(two_heads("box"), scores="box")).scores == "box"


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((1000,), True),
        ((1000, 1, 1), True),
        ((1, 10), True),
        ((1, 1), True),
        ((6400, 1), False),
        ((5, 4), False),
    ],
)
def test_one_value_per_position_is_no_class(shape: tuple[int, ...], expected: bool) -> None:
    assert are_class_scores(shape) is expected
