"""Plots: where the values lie."""

from __future__ import annotations

import re

import pytest
from fastcam_export.evaluate.controls import CONTROLS
from fastcam_export.evaluate.report import page, svg
from fastcam_export.evaluate.results import Evaluation, PictureResult


def _heights(text: str) -> dict[float, float]:
    """The height of each labelled line, by its value."""
    found = re.findall(r'y1="([\d.]+)" y2="[\d.]+" stroke="[^"]+"/><text [^>]+>(−?[\d.]+)<', text)
    return {float(value.replace("−", "-")): float(y) for y, value in found}


def _curves(text: str) -> list[list[float]]:
    """The heights of the points of each curve."""
    return [
        [float(point.split(",")[1]) for point in points.split()]
        for points in re.findall(r'<polyline points="([^"]*)"', text)
    ]


def test_negative_values_lie_below_the_line_of_0() -> None:
    text = svg.lines("t", [0, 0.5, 1], {"a": [1.0, 0.0, -0.5], "b": [0.5, 0.25, 0.0]}, "note")
    height, (one, other) = _heights(text), _curves(text)
    assert one == pytest.approx([height[1.0], height[0.0], height[-0.5]], abs=0.1)
    assert other == pytest.approx([height[0.5], height[0.25], height[0.0]], abs=0.1)
    assert height[1.0] < height[0.0] < height[-0.5]


def test_without_negative_values_the_plot_begins_at_0() -> None:
    text = svg.lines("t", [0, 1], {"a": [0.4, 0.8]}, "note")
    assert max(_heights(text).values()) == _heights(text)[0.0]
    assert _curves(text) == [pytest.approx([_heights(text)[0.4], _heights(text)[0.8]], abs=0.1)]


def test_values_that_are_not_known_are_left_out() -> None:
    text = svg.lines("t", [0, 0.5, 1], {"a": [1.0, float("nan"), 0.5], "b": [float("nan")] * 3}, "note")
    assert [len(points) for points in _curves(text)] == [2, 0]
    assert "nan" not in text


def test_the_page_shows_a_negative_correlation_as_negative() -> None:
    one = PictureResult("a.jpg", "", None, {name: {} for name in ("cam", *CONTROLS)}, {"cam": 0.1}, {})
    found = Evaluation("m.onnx", {"pictures": 1}, ("cam", *CONTROLS), ("cam",), [one])
    found.sanity = {"classifier": {"cam": [0.5, None]}, "all": {"cam": [-0.6, -0.4]}}
    text = page.html(found)
    height, ((start, classifier, every),) = _heights(text), _curves(text)
    assert (start, every) == pytest.approx((height[1.0], height[-0.5]), abs=0.1)
    assert classifier == pytest.approx(height[0.5], abs=0.1)
