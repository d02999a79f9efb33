"""Class names: from files, lists and mappings, and those that a model file carries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastcam_export import GraftError, graft
from fastcam_export.metadata.labels import read_labels
from onnx import helper
from support.networks import small_cnn
from support.refusals import refusal_of
from support.running import metadata_of

LABELS = tuple("abcdefghij")


@pytest.mark.slow
@pytest.mark.parametrize("kind", [str, Path])
@pytest.mark.parametrize("text", ["\n".join(LABELS), json.dumps(LABELS)])
def test_labels_may_be_a_file(text: str, kind: type, tmp_path: Path) -> None:
    path = tmp_path / "labels.txt"
    path.write_text(text)
    assert metadata_of(graft(small_cnn(), labels=kind(path))).labels == LABELS
    with pytest.raises(GraftError, match=r"cannot read the labels .*other\.txt"):
        graft(small_cnn(), labels=kind(tmp_path / "other.txt"))


@pytest.mark.parametrize(
    "text", ["\n".join(LABELS) + "\n\n", "\r\n".join(LABELS) + "\r\n \r\n", f"{json.dumps(LABELS)}\n\n"]
)
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_labels_as_editors_save_them(mark: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "labels.txt"
    path.write_text(mark + text, encoding="utf-8", newline="")
    assert read_labels(path) == LABELS


@pytest.mark.slow
@pytest.mark.parametrize(
    "names", ["{[1]: 'a'}", "{None: 'a'}", "{1e999: 'a'}", '{"x": "a"}', "5", "[" * 3000, "[" * 1_000_000]
)
def test_a_files_own_names_that_are_none(names: str, tmp_path: Path) -> None:
    """Bad entries of a model file are not the user's mistake; in the user's own file they are."""
    model = small_cnn()
    model.metadata_props.add(key="names", value=names)
    assert metadata_of(graft(model)).labels == ()
    path = tmp_path / "labels.txt"
    path.write_text(names if names[0] in "[{" else "\n")
    with pytest.raises(GraftError, match=r"no labels in .*labels\.txt"):
        graft(small_cnn(), labels=path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "labels", [list(LABELS), np.array(LABELS), dict(enumerate(LABELS)), dict(reversed([*enumerate(LABELS)]))]
)
def test_labels_may_be_a_list_or_a_mapping(labels: Any) -> None:
    assert metadata_of(graft(small_cnn(), labels=labels)).labels == LABELS


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (5, "labels must be a file, a list of names or a mapping of indices, not 5"),
        ({"x": "a"}, "labels: the keys of {'x': 'a'} are not the indices 0, 1, 2…"),
        ({float("inf"): "a"}, "labels: the keys of {inf: 'a'} are not the indices 0, 1, 2…"),
        ({1: "a", 2: "b"}, "labels: the keys of {1: 'a', 2: 'b'} are not the indices 0, 1, 2…"),
        ({"a", "b"}, "labels must be a file, a list of names or a mapping of indices, not {"),
        (np.array(5), "labels must be a file, a list of names or a mapping of indices, not arr"),
    ],
)  # fmt: skip
def test_mistakes(labels: Any, message: str) -> None:
    assert message in refusal_of(labels=labels)


@pytest.mark.parametrize(
    ("labels", "words"), [(["a" * 1_001] * 10, "1001 characters"), (["a"] * 100_001, "100001")]
)
def test_labels_beyond_the_limits(labels: list[str], words: str) -> None:
    """The user's labels are refused; labels of a file are not the user's mistake and are ignored."""
    assert words in refusal_of(labels=labels)
    model = small_cnn()
    helper.set_model_props(model, {"names": json.dumps(labels)})
    assert metadata_of(graft(model)).labels == ()
