"""What a budget allows."""

from __future__ import annotations

import pytest
from fastcam_export.tune import Budget
from fastcam_runtime import FastcamError
from fastcam_runtime.measure.paired import Difference
from support.tuned import PLAIN


@pytest.mark.parametrize(
    ("text", "limit", "unit"),
    [("5%", 5, "%"), ("5", 5, "%"), ("0.5ms", 0.5, "ms"), (" 2.5 % ", 2.5, "%"), (".5 ms", 0.5, "ms")],
)
def test_budgets(text: str, limit: float, unit: str) -> None:
    assert Budget.parse(text) == Budget(limit, unit)


@pytest.mark.parametrize("text", ["", "five", "-5%", "5s", "5%%", "nan", "1e3", "ms", "."])
def test_not_a_budget(text: str) -> None:
    with pytest.raises(FastcamError, match=r"give a share such as 5% or a time such as 0\.5ms"):
        Budget.parse(text)


def test_what_a_budget_allows() -> None:
    cost = Difference(median=0.5, quartiles=(0.4, 0.6), interval=(0.45, 0.55), percent=5.0)
    for text, allowed, close in (
        ("5%", True, True), ("4.9", False, True), ("4%", False, False), ("6%", True, False),
        ("0.5ms", True, True), ("0.4ms", False, False),
    ):  # fmt: skip
        budget = Budget.parse(text)
        assert (budget.allows(cost), budget.is_close(cost, PLAIN)) == (allowed, close)


def test_maps_that_seem_to_cost_less_than_nothing_are_within_any_budget() -> None:
    cost = Difference(median=-0.5, quartiles=(-0.6, -0.4), interval=(-0.55, -0.45), percent=-5.0)
    for text in ("5%", "0%", "0.5ms"):
        budget = Budget.parse(text)
        assert (budget.allows(cost), budget.is_close(cost, PLAIN)) == (True, False)
