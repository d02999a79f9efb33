"""Which outputs are class scores, and that a plain and a grafted file agree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from fastcam_export import GraftError, export
from fastcam_runtime import Explainer
from fastcam_runtime.cli.main import main
from fastcam_runtime.contract import METADATA_KEY, Metadata
from support.networks import network

W = np.random.default_rng(0).standard_normal((8, 3, 3, 3)).astype(np.float32)
FEATURES = """
    c = Conv <strides=[2,2], pads=[1,1,1,1]> (input, w)
    a = Relu (c)
"""
POOLED = f"{FEATURES} g = GlobalAveragePool (a)\n f = Flatten (g)\n"
HEAD = np.random.default_rng(1).standard_normal((8, 5)).astype(np.float32)
NO_CLASSES = "not for each class: no labels, no class maps"


def sequence(size: str, steps: str = "steps") -> onnx.ModelProto:
    """One number per column of the picture, as recognisers of text have."""
    body = f"{FEATURES} m = ReduceMean <axes=[1,2], keepdims=0> (a)\n logits = Sigmoid (m)\n"
    return network(body, inputs=f"float[1,3,{size}] input", output=f"float[1,{steps}] logits", w=W)


def rows() -> onnx.ModelProto:
    """Two numbers for each of 1,024 anchors, without a batch."""
    body = f"{FEATURES} logits = Reshape (a, shape)\n"
    return network(body, output="float[4096,2] logits", w=W, shape=np.array([4096, 2]))


def classes(declared: str) -> onnx.ModelProto:
    return network(f"{POOLED} logits = MatMul (f, h)\n", output=f"float[{declared}] logits", w=W, h=HEAD)


def best() -> onnx.ModelProto:
    body = f"{POOLED} m = MatMul (f, h)\n logits = ArgMax <axis=1, keepdims=0> (m)\n"
    return network(body, output="int64[1] logits", w=W, h=HEAD)


def lines(capsys: pytest.CaptureFixture[str], *files: Path) -> list[str]:
    """What `inspect` prints about the scores of each file."""
    told = []
    for file in files:
        assert main(["inspect", str(file)]) == 0
        line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("scores"))
        told.append(" ".join(line.split()))
    return told


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "told"),
    [
        (sequence("32,width"), f"one for each of ?, {NO_CLASSES}"),
        (sequence("32,width", "160"), f"one for each of ?, {NO_CLASSES}"),
        (rows(), f"one for each of 4096×2, {NO_CLASSES}"),
        (best(), "no scores, but indices, names or flags: no labels, no class maps"),
        (classes("1,5"), "logits"),
        (classes("1,n"), "logits"),
    ],
    ids=["sequence", "declared for another width", "rows", "best", "classes", "free classes"],
)
def test_the_plain_and_the_grafted_file_say_the_same(
    model: onnx.ModelProto, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain, grafted = tmp_path / "plain.onnx", tmp_path / "grafted.onnx"
    onnx.save(model, plain)
    export(plain, grafted, input_shape=(1, 3, 32, 64) if "width" in str(model.graph.input) else None)
    assert lines(capsys, plain, grafted) == [f"scores logits {told}"] * 2


def test_a_sequence_has_no_label_and_no_class_map(tmp_path: Path) -> None:
    target = tmp_path / "grafted.onnx"
    found = export(sequence("32,width"), target, input_shape=(1, 3, 32, 64)).metadata
    assert found.scores_shape == (None,)
    result = Explainer(target)(np.zeros((32, 64, 3), np.uint8))
    assert (result.label, result.score, result.index) == ("", None, None)
    with pytest.raises(GraftError, match="no class map: 'logits' has a value for each of \\?, not"):
        export(sequence("32,width"), target, input_shape=(1, 3, 32, 64), outputs="cam")


def test_a_number_of_classes_that_is_not_declared_follows_from_the_weights(tmp_path: Path) -> None:
    target = tmp_path / "grafted.onnx"
    assert export(classes("n,m"), target, labels=list("abcde")).metadata.scores_shape == (5,)
    assert Explainer(target)(np.zeros((64, 64, 3), np.uint8)).label in "abcde"


def test_a_file_that_does_not_state_the_shape_is_read_as_before(tmp_path: Path) -> None:
    """Format 1 without `scores_shape`: a free dimension counts as classes."""
    target = tmp_path / "grafted.onnx"
    export(sequence("32,64"), target)
    model = onnx.load(target)
    entry = next(entry for entry in model.metadata_props if entry.key == METADATA_KEY)
    assert Metadata.from_json(entry.value).scores_shape == (32,)
    entry.value = entry.value.replace(',"scores_shape":[32]', "")
    assert Metadata.from_json(entry.value).scores_shape is None
    onnx.save(model, target)
    assert Explainer(target)(np.zeros((32, 64, 3), np.uint8)).index is not None


def test_a_size_that_works_is_suggested_where_the_assumed_one_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A reader of text lines: its weights need pictures of height 48."""
    body = f"""{FEATURES}
        m = ReduceMean <axes=[3], keepdims=0> (a)
        f = Flatten (m)
        logits = MatMul (f, h)
    """
    head = np.random.default_rng(1).standard_normal((8 * 24, 5)).astype(np.float32)
    model = network(body, inputs="float[1,3,h,w] input", output="float[1,5] logits", w=W, h=head)
    plain, grafted = tmp_path / "plain.onnx", tmp_path / "grafted.onnx"
    onnx.save(model, plain)
    assert main(["export", str(plain), str(grafted)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("fastcam: error: an --input-shape is needed, such as 1,3,48,320, which works: ")
    assert error.count("\n") == 1
    assert main(["export", str(plain), str(grafted), "--input-shape", "1,3,48,320"]) == 0
