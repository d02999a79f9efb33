"""Probabilities from scores, and finding the class that a text or a number names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fastcam_runtime.classes import (
    ClassError,
    class_count,
    find_class,
    probability,
    tells_classes,
    top_classes,
)
from scipy.special import expit, softmax

LABELS = ("tabby", "tiger cat", "Egyptian cat", "tiger", "7", "tiger shark")


@pytest.mark.parametrize(
    ("choice", "index"),
    [
        (0, 0),
        ("0", 0),
        (" 2 ", 2),
        ("tiger", 3),  # exact before part
        ("TIGER", 3),
        ("egypt", 2),
        ("7", 4),  # a label before an index
        ("5", 5),
    ],
)
def test_found(choice: int | str, index: int) -> None:
    assert find_class(choice, LABELS, len(LABELS)) == index


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (6, "no class 6; the file has 0…5"),
        (-1, "no class -1"),
        ("dog", "no class 'dog'"),
        ("tigger", "closest: tiger"),
        ("cat", r"could be tiger cat \(1\), Egyptian cat \(2\)"),
        ("", "no class ''"),
    ],
)
def test_refused(choice: int | str, message: str) -> None:
    with pytest.raises(ClassError, match=message):
        find_class(choice, LABELS, len(LABELS))


@pytest.mark.parametrize("choice", ["tiger shark", "shark", "5"])
def test_a_label_beyond_the_classes_names_none(choice: str) -> None:
    with pytest.raises(ClassError, match=f"no class '?{choice}"):
        find_class(choice, LABELS, 5)


def test_many_candidates_are_cut_off() -> None:
    with pytest.raises(ClassError, match=r"kind 0 \(0\).* and 12 more"):
        find_class("kind", [f"kind {i}" for i in range(20)], 20)


def test_without_a_known_count_only_the_sign_is_checked() -> None:
    assert find_class(10**6, (), None) == 10**6
    assert find_class("class 7", (), None) == 7
    with pytest.raises(ClassError):
        find_class(-2, (), None)


def test_a_name_that_two_classes_share_lists_both() -> None:
    with pytest.raises(ClassError, match=r"'crane' could be crane \(0\), crane \(2\)"):
        find_class("crane", ["crane", "heron", "crane"], 3)


Shape = list[int | str | None]


@pytest.mark.parametrize(
    ("declared", "found", "tells", "count"),
    [
        (["N", 10], (10,), True, 10),
        (["N", "C"], (10,), True, None),
        ([1, 10, 1, 1], (10, 1, 1), True, 10),
        ([1, 1, 10], (1, 10), True, 10),
        ([], (10,), True, None),
        ([], (5, 4, 4), False, None),
        (["N", 5, "h", "w"], (5, 4, 4), False, None),
        # A detector with one box is not a classifier.
        ([1, "boxes", 6], (3, 6), False, None),
        ([1, "boxes", 6], (1, 6), False, None),
    ],
)
def test_shapes(declared: Shape, found: tuple[int, ...], tells: bool, count: int | None) -> None:
    """For files that do not state the shape of one picture's scores."""
    assert tells_classes(declared, np.zeros(found, np.float32)) == tells
    assert class_count(declared) == count


@pytest.mark.parametrize(
    ("stated", "tells"),
    [
        ((10,), True),
        ((10, 1, 1), True),
        ((None,), False),
        ((1076, 2), False),
        ((None, 10), False),
        ((), True),
    ],
)
def test_what_the_metadata_state_wins(stated: tuple[int | None, ...], tells: bool) -> None:
    """A free dimension depends on the picture: it is not the number of classes."""
    assert tells_classes(["N", "C"], np.zeros(10, np.float32), stated) == tells


@pytest.mark.parametrize("dtype", [np.int64, np.bool_])
def test_an_index_is_no_score(dtype: Any) -> None:
    assert not tells_classes([1, 1], np.zeros(1, dtype))


def test_probabilities() -> None:
    logits = np.random.default_rng(0).normal(scale=20, size=12).astype(np.float32)
    for index, expected in enumerate(softmax(logits.astype(np.float64))):
        assert probability(logits, index, "logits") == pytest.approx(expected)
        assert probability(logits, index, "probabilities") == logits[index]
    for logit in (-1e6, -3.0, 0.0, 5.0, 1e6):
        assert probability(np.array([logit]), 0, "logits") == pytest.approx(expit(logit))


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_the_best_classes_in_order(dtype: type) -> None:
    scores = np.array([1.0, 4.0, -2.0, 4.0, 3.0], dtype)
    top = top_classes(scores, 3, ("a", "b", "c"), "logits")
    assert [(each.index, each.label) for each in top] == [(1, "b"), (3, "class 3"), (4, "class 4")]
    assert [each.score for each in top] == pytest.approx(softmax(scores.astype(np.float64))[[1, 3, 4]])
    assert top_classes(np.array([0.2, 0.7], dtype), 5, (), "probabilities")[0].score == pytest.approx(
        0.7, 1e-3
    )
    assert top_classes(np.array([3.0], dtype), 5, ("yes",), "logits")[0].score == pytest.approx(expit(3.0))
