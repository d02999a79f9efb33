"""Scores of the retraining over the seeds that were run, by hand."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.quality.retraining import protocol
from benchmarks.quality.retraining.orders import agreement, input_scores

MAPS = ("smoe prior", "Grad-CAM", "centre")


def _cells(seed: int, mode: str, at: float, accuracies: dict[str, float]) -> list[dict[str, Any]]:
    return [
        {"experiment": "input", "method": name, "mode": mode, "at": at, "seed": seed, "accuracy": one}
        for name, one in accuracies.items()
    ]


def _of_maps(*accuracies: float) -> dict[str, float]:
    return dict(zip(MAPS, accuracies, strict=True))


def test_seeds_that_have_all_columns_are_kept_apart() -> None:
    lines = [
        *_cells(0, "KAR", 0.1, _of_maps(0.5, 0.4, 0.3)), *_cells(0, "ROAR", 0.5, _of_maps(0.2, 0.3, 0.4)),
        *_cells(1, "KAR", 0.1, _of_maps(0.6, 0.4, 0.3)), *_cells(1, "ROAR", 0.5, _of_maps(0.2, 0.2, 0.4)),
    ]  # fmt: skip
    found = input_scores(lines)
    assert found.seeds == {("KAR", 0.1): [0, 1], ("ROAR", 0.5): [0, 1]}
    assert found.means["smoe prior", "KAR", 0.1] == pytest.approx(0.55)
    assert found.sums["smoe prior"] == pytest.approx([30, 40])
    assert found.sums["centre"] == pytest.approx([-10, -10])


def test_a_seed_counts_only_in_columns_that_it_has_whole() -> None:
    lines = [
        *_cells(0, "KAR", 0.1, _of_maps(0.5, 0.4, 0.3)), *_cells(0, "ROAR", 0.5, _of_maps(0.2, 0.3, 0.4)),
        *_cells(1, "KAR", 0.1, _of_maps(0.6, 0.4, 0.3)), *_cells(1, "ROAR", 0.5, {"smoe prior": 0.9}),
    ]  # fmt: skip
    found = input_scores(lines)
    assert found.seeds == {("KAR", 0.1): [0, 1], ("ROAR", 0.5): [0]}
    assert found.means["smoe prior", "ROAR", 0.5] == 0.2
    assert found.sums["smoe prior"] == pytest.approx([55 - 20])  # of the means


def test_smoothgrad_may_lack_columns() -> None:
    """It is dear, so it is run last; the other maps do not wait for it."""
    lines = [
        *_cells(0, "KAR", 0.1, {**_of_maps(0.5, 0.4, 0.3), protocol.SMOOTHGRAD: 0.45}),
        *_cells(0, "ROAR", 0.5, _of_maps(0.2, 0.3, 0.4)),
        *_cells(1, "KAR", 0.1, _of_maps(0.6, 0.4, 0.3)), *_cells(1, "ROAR", 0.5, _of_maps(0.2, 0.2, 0.4)),
    ]  # fmt: skip
    found = input_scores(lines)
    assert found.compared == [("KAR", 0.1), ("ROAR", 0.5)]
    assert found.means[protocol.SMOOTHGRAD, "KAR", 0.1] == 0.45
    assert protocol.SMOOTHGRAD not in found.sums
    assert found.sums["smoe prior"] == pytest.approx([30, 40])


def test_roar_of_random_pixels_is_kar_of_the_rest() -> None:
    lines = _cells(0, "KAR", 0.1, {protocol.RANDOM: 0.5}) + _cells(0, "KAR", 0.9, {protocol.RANDOM: 0.7})
    found = input_scores(lines)
    assert found.means[protocol.RANDOM, "ROAR", 0.9] == 0.5
    assert found.sums[protocol.RANDOM] == pytest.approx([50 + 70 - 70 - 50])


def test_agreement_is_the_rank_correlation_and_its_chance() -> None:
    """Of the 24 orders of four rows, one is perfect and three more have a correlation of 0.8."""
    papers = {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}
    perfect = agreement({name: [value, value + 0.5] for name, value in papers.items()}, papers)
    assert perfect is not None
    assert perfect.correlation == pytest.approx(1)
    assert perfect.chance == pytest.approx(1 / 24, abs=0.01)
    swapped = agreement({"a": [3.0], "b": [4.0], "c": [2.0], "d": [1.0]}, papers)
    assert swapped is not None
    assert swapped.correlation == pytest.approx(0.8)
    assert swapped.chance == pytest.approx(4 / 24, abs=0.02)
    assert agreement({"a": [1.0], "b": [2.0], "c": [3.0]}, papers) is None
