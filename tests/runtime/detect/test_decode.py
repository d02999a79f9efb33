"""Decoding against formulas written row by row in Python's own floats."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from fastcam_runtime.detect.decode import find_candidates
from fastcam_runtime.detect.detections import Threshold, detect
from fastcam_runtime.detect.head import Grid, Head
from fastcam_runtime.errors import FastcamError, ModelError
from fastcam_runtime.image import Geometry

SIZE = (64, 96)
GRIDS = (Grid(8, 12, 8, 2), Grid(4, 6, 16, 2))
ANCHORS = ((10.0, 13.0, 16.0, 30.0), (33.0, 23.0, 30.0, 61.0))
BINS = 8
Box = tuple[float, float, float, float]


def cells(order: str) -> list[tuple[int, int, float, float, float]]:
    """Column, row, stride, anchor width and height of every row."""
    found = []
    for grid, sides in zip(GRIDS, ANCHORS, strict=True):
        kinds = [(sides[0], sides[1]), (sides[2], sides[3])]
        places = [(x, y) for y in range(grid.height) for x in range(grid.width)]
        if order == "cells":
            found += [(x, y, grid.stride, w, h) for x, y in places for w, h in kinds]
        else:
            found += [(x, y, grid.stride, w, h) for w, h in kinds for x, y in places]
    return found


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def centred(x: float, y: float, w: float, h: float) -> Box:
    return x - w / 2, y - h / 2, x + w / 2, y + h / 2


def of_distribution(v: list[float], c: tuple[int, int, float, float, float]) -> Box:
    sides = []
    for k in range(4):
        weights = [math.exp(value) for value in v[k * BINS : (k + 1) * BINS]]
        sides.append(sum(i * w for i, w in enumerate(weights)) / sum(weights))
    return of_distances(sides, c)


def of_distances(v: list[float], c: tuple[int, int, float, float, float]) -> Box:
    x, y, s = c[0] + 0.5, c[1] + 0.5, c[2]
    return (x - v[0]) * s, (y - v[1]) * s, (x + v[2]) * s, (y + v[3]) * s


FORMULAS: dict[str, Callable[[list[float], tuple[int, int, float, float, float]], Box]] = {
    "xyxy": lambda v, c: (v[0], v[1], v[2], v[3]),
    "yxyx": lambda v, c: (v[1], v[0], v[3], v[2]),
    "cxcywh": lambda v, c: centred(*v[:4]),
    "offsets": lambda v, c: centred(
        (v[0] + c[0]) * c[2], (v[1] + c[1]) * c[2], math.exp(v[2]) * c[2], math.exp(v[3]) * c[2]
    ),
    "distances": of_distances,
    "distribution": of_distribution,
    "anchors": lambda v, c: centred(
        (2 * sigmoid(v[0]) - 0.5 + c[0]) * c[2],
        (2 * sigmoid(v[1]) - 0.5 + c[1]) * c[2],
        (2 * sigmoid(v[2])) ** 2 * c[3],
        (2 * sigmoid(v[3])) ** 2 * c[4],
    ),
    "priors": lambda v, c: centred(
        (c[0] + 0.5) * c[2] + 0.1 * v[0] * c[3],
        (c[1] + 0.5) * c[2] + 0.1 * v[1] * c[4],
        math.exp(0.2 * v[2]) * c[3],
        math.exp(0.2 * v[3]) * c[4],
    ),
    "tanh": lambda v, c: centred(
        (math.tanh(v[0]) + c[0]) * c[2],
        (math.tanh(v[1]) + c[1]) * c[2],
        sigmoid(v[2]) * SIZE[1],
        sigmoid(v[3]) * SIZE[0],
    ),
}


def make_head(decode: str, **fields: object) -> Head:
    width = 4 * BINS if decode == "distribution" else 4
    base = Head(
        "rows", 3, ("out",), ("out",), ("out",), GRIDS, box_at=0, objectness_at=width, score_at=width + 1,
        decode=decode, bins=BINS, anchors=ANCHORS,
    )  # fmt: skip
    return replace(base, **fields)  # type: ignore[arg-type]


def values(head: Head, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    boxes = random.normal(0, 1, (head.rows, head.objectness_at))
    return np.concatenate([boxes, random.uniform(0, 1, (head.rows, 4))], 1).astype(np.float32)


@pytest.mark.parametrize("order", ["cells", "anchors"])
@pytest.mark.parametrize("decode", FORMULAS)
def test_boxes(decode: str, order: str) -> None:
    head = make_head(decode, order=order)
    rows = values(head)
    found = find_candidates(head, {"out": rows}, SIZE, 0.0)
    np.testing.assert_array_equal(found.rows, np.arange(head.rows))
    expected = [FORMULAS[decode](list(map(float, v)), c) for v, c in zip(rows, cells(order), strict=True)]
    np.testing.assert_allclose(found.boxes, expected, rtol=1e-4, atol=1e-3)


def test_fractions_are_parts_of_width_and_height() -> None:
    head = make_head("xyxy")
    rows = values(head)
    pixels = find_candidates(head, {"out": rows}, SIZE, 0.0).boxes
    found = find_candidates(replace(head, unit="fraction"), {"out": rows}, SIZE, 0.0).boxes
    np.testing.assert_allclose(found, pixels * [96, 64, 96, 64], rtol=1e-6)


@pytest.mark.parametrize("powers", [(1.0, 1.0), (0.5, 0.5), (0.6, 0.4)])
def test_scores_are_objectness_times_class(powers: tuple[float, float]) -> None:
    head = make_head("cxcywh", powers=powers)
    rows = values(head)
    found = find_candidates(head, {"out": rows}, SIZE, 0.3)
    expected = [float(v[4]) ** powers[0] * float(max(v[5:])) ** powers[1] for v in rows]
    kept = [k for k, score in enumerate(expected) if score >= 0.3]
    assert found.rows.tolist() == kept
    np.testing.assert_allclose(found.scores, [expected[k] for k in kept], rtol=1e-5)
    assert found.classes.tolist() == [int(np.argmax(rows[k, 5:])) for k in kept]


@pytest.mark.parametrize("activation", ["sigmoid", "softmax"])
def test_logits_become_probabilities(activation: str) -> None:
    head = make_head("cxcywh", objectness=(), scores=("scores",), score_at=1, activation=activation)
    logits = np.random.default_rng(1).normal(0, 30, (head.rows, 4)).astype(np.float32)
    found = find_candidates(head, {"out": values(head), "scores": logits}, SIZE, 0.0)
    for row, score in zip(logits.astype(np.float64), found.scores, strict=True):
        best = row[1:].max()
        if activation == "sigmoid":
            expected = (1 + math.tanh(best / 2)) / 2
        else:
            expected = math.exp(best - row.max()) / np.exp(row - row.max()).sum()
        assert score == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_every_layout_of_the_same_rows_gives_the_same() -> None:
    head = make_head("offsets", order="anchors")
    rows = values(head)
    expected = find_candidates(head, {"out": rows}, SIZE, 0.2)
    first = GRIDS[0].rows
    parts = {"a": rows[:first], "b": rows[first:]}
    names = {"boxes": ("a", "b"), "scores": ("a", "b"), "objectness": ("a", "b")}
    planes = {
        name: part.reshape(2, grid.height * grid.width, 8)
        .transpose(0, 2, 1)
        .reshape(16, grid.height, grid.width)
        for (name, part), grid in zip(parts.items(), GRIDS, strict=True)
    }
    for other, outputs in (
        (replace(head, layout="columns"), {"out": rows.T}),
        (replace(head, **names), parts),
        (replace(head, layout="grid", **names), planes),
    ):
        found = find_candidates(other, outputs, SIZE, 0.2)
        np.testing.assert_array_equal(found.rows, expected.rows)
        np.testing.assert_allclose(found.boxes, expected.boxes, rtol=1e-6)
        np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-6)


def test_end_to_end_rows_are_taken_as_they_are() -> None:
    head = Head("end_to_end", 3, ("out",), ("out",), score_at=4, decode="xyxy")
    rows = np.array([[1, 2, 11, 22, 0.9, 2], [1, 2, 11, 23, 0.8, 2], [5, 5, 9, 9, 0.1, 0]], np.float32)
    geometry = Geometry.lay(SIZE, SIZE, "stretch")
    found = detect(head, {"out": rows}, geometry, ("a", "b", "c"), Threshold())
    assert [(d.label, d.row) for d in found] == [("c", 0), ("c", 1)]
    assert found[0].box == (1, 2, 11, 22)


def test_wrong_descriptions_fail_with_one_line() -> None:
    head = make_head("cxcywh")
    rows = values(head)
    with pytest.raises(ModelError, match=r"'out' is 239×8, not 240 rows"):
        find_candidates(head, {"out": rows[:-1]}, SIZE, 0.2)
    with pytest.raises(ModelError, match=r"scores in 'out' are .* not 0…1"):
        find_candidates(replace(head, score_at=0, classes=4), {"out": rows}, SIZE, 0.2)
    far = rows.copy()
    far[:, :2] += 1e4
    with pytest.raises(ModelError, match=r"boxes in 'out' are outside the picture"):
        detect(head, {"out": far}, Geometry.lay(SIZE, SIZE, "stretch"), (), Threshold())
    with pytest.raises(ModelError, match="decode is 'cxcy'"):
        replace(head, decode="cxcy")
    with pytest.raises(FastcamError, match=r"--iou 1.5: a number from 0 to 1"):
        Threshold(iou=1.5)


@pytest.mark.parametrize("resize", ["stretch", "crop", "letterbox"])
@pytest.mark.parametrize("placement", ["centre", "corner"])
@pytest.mark.parametrize("frame", [(480, 640), (300, 120), (64, 96)])
def test_boxes_go_back_to_the_frame(frame: tuple[int, int], resize: str, placement: str) -> None:
    """A box on the frame is recovered after the frame was placed in the input."""
    from fastcam_runtime.contract import ImageInput, Preprocess
    from fastcam_runtime.preprocess import Preprocessor

    height, width = frame
    seen = Geometry.lay(frame, SIZE, resize, placement).seen
    x0, y0 = seen.x + seen.width // 4, seen.y + seen.height // 4
    x1, y1 = x0 + seen.width // 2, y0 + seen.height // 2
    picture = np.zeros((height, width, 3), np.uint8)
    picture[y0:y1, x0:x1] = 255
    preprocess = Preprocess("BGR", pad=0, placement=placement)
    tensor, geometry = Preprocessor(ImageInput("x", "NCHW", 3, *SIZE), preprocess, resize)(picture)
    bright = tensor[0, 0] > 127
    rows, columns = np.flatnonzero(bright.any(axis=1)), np.flatnonzero(bright.any(axis=0))
    box = np.array([[columns[0], rows[0], columns[-1] + 1, rows[-1] + 1]], np.float32)
    scale = max(height / SIZE[0], width / SIZE[1], 1)
    np.testing.assert_allclose(geometry.to_frame(box)[0], [x0, y0, x1, y1], atol=1.5 * scale)


def test_a_detection_says_whether_a_point_is_in_it() -> None:
    head = Head("end_to_end", 1, ("out",), ("out",), score_at=4, decode="xyxy")
    rows = np.array([[10, 10, 30, 20, 0.9, 0]], np.float32)
    (found,) = detect(head, {"out": rows}, Geometry.lay(SIZE, SIZE, "stretch"), (), Threshold())
    assert found.contains(10, 10)
    assert not found.contains(30, 15)
    assert found.area == 200
    assert found.label == "class 0"
