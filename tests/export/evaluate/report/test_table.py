"""The table for the terminal."""

from __future__ import annotations

import re

import pytest
from fastcam_export.evaluate.measures.flicker import Flicker
from fastcam_export.evaluate.report import table
from fastcam_export.evaluate.report.numbers import rounded, signed
from support.evaluations import MAPS, evaluation


def test_names_of_files_reach_the_terminal_on_one_line_without_control_characters() -> None:
    found = evaluation(2)
    found.file = "a\x1b[2J\nb.onnx"
    found.notes = ["x\x1b]0;title\x07\nnote: forged.jpg is not a picture that can be read"]
    text = table.text(found)
    assert "\x1b" not in text
    assert "\x07" not in text
    assert sum(line.startswith("note: ") for line in text.splitlines()) == 1
    assert text.splitlines()[0].startswith("a\\x1b[2J b.onnx: 2")


def test_tables_fit_the_terminal() -> None:
    """Eight metrics with intervals, and names of steps and of the video, are split among tables."""
    found = evaluation(20)
    found.sanity = {"last quarter": {name: [-0.1, -0.2, -0.4] for name in MAPS}}
    found.flicker = {name: Flicker(11.5, 22.25, 0.987, 31, (1.0, 2.0) * 15, (1.0,) * 30) for name in MAPS}
    lines = table.text(found).splitlines()
    tables = [line for line in lines if re.search(r"\d\.\d.*[)\]]$", line) and not line.startswith("- ")]
    assert len(tables) >= 2 * len(found.methods) + 2
    assert max(map(len, tables)) <= table.WIDTH
    heads = [line for line in lines if line.startswith("map ")]
    assert [len(re.split(r"\s{2,}", head)) for head in heads] == [5, 5, 5]


def test_a_wide_column_stands_alone() -> None:
    rows = [("map", "a" * 100, "b" * 100), ("x", "1", "2")]
    first, second = table.fitted(rows).split("\n\n")
    assert first.splitlines()[1].split() == ["x", "1"]
    assert second.splitlines()[1].split() == ["x", "2"]


@pytest.mark.parametrize(("count", "told"), [(1, "m.onnx: 1 picture"), (3, "m.onnx: 3 pictures")])
def test_the_first_line_counts_the_pictures(count: int, told: str) -> None:
    assert table.text(evaluation(count)).splitlines()[0] == told


def test_left_out_pictures_are_counted() -> None:
    found = evaluation(3)
    found.setup["pictures"] = 5
    assert table.text(found).splitlines()[0] == "m.onnx: 3 of 5 pictures"


def test_brackets_are_explained_where_they_are_printed() -> None:
    assert "[brackets]" not in table.text(evaluation(1))
    assert "(parentheses)" not in table.text(evaluation(1))
    assert "[brackets]" in table.text(evaluation(3))
    alone = evaluation(3)
    alone.methods = alone.maps = ("cam",)
    text = table.text(alone)
    assert "[brackets]" not in text
    assert "(parentheses): the 95 % bootstrap interval of the mean itself" in text


@pytest.mark.parametrize(
    ("value", "text", "with_sign"),
    [(-0.0004, "0.000", "0.000"), (-0.0, "0.000", "0.000"), (0.0004, "0.000", "0.000"),
     (-0.0006, "−0.001", "−0.001"), (0.25, "0.250", "+0.250"), (-10.0, "−10.000", "−10.000"),
     (10.0, "10.000", "+10.000"), (float("nan"), "nan", "+nan")],
)  # fmt: skip
def test_zero_has_no_sign(value: float, text: str, with_sign: str) -> None:
    assert (rounded(value), signed(value)) == (text, with_sign)
