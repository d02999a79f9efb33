"""The conclusions, on figures whose differences are known."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from fastcam_export.evaluate import bootstrap
from fastcam_export.evaluate.bootstrap import Estimate, estimate
from fastcam_export.evaluate.controls import CONTROLS
from fastcam_export.evaluate.report import page, table
from fastcam_export.evaluate.report.words import conclusions, signs_of
from fastcam_export.evaluate.results import Evaluation, Example, PictureResult

MAPS = ("saliency_map", "cam")
Levels = dict[str, float]


def _evaluation(
    count: int = 40, blur: Levels | None = None, mean: Levels | None = None, auc: Levels | None = None,
    classes: Callable[[int], float | None] | None = None,
) -> Evaluation:  # fmt: skip
    """Pictures whose figures are these levels, 0 by default, plus a little noise."""
    random = np.random.default_rng(0)
    methods = (*MAPS, *CONTROLS)
    pictures = []
    for k in range(count):
        metrics = {"score_blur": blur or {}, "score_mean": mean or {}}
        if auc is not None:
            metrics["pixel_auc"] = auc
        figures = {
            name: {
                metric: levels.get(name, 0.0) + 0.05 * random.standard_normal()
                for metric, levels in metrics.items()
            }
            for name in methods
        }
        other = {} if classes is None else {"cam": classes(k)}
        pictures.append(PictureResult(f"{k}.jpg", "cat", 0.9, figures, dict.fromkeys(MAPS, 0.5), other))
    return Evaluation("m.onnx", {"pictures": count}, methods, MAPS, pictures)


def _line(found: Evaluation, *parts: str) -> str:
    (line,) = (line for line in conclusions(found) if all(part in line for part in parts))
    return line


def test_a_map_that_beats_all_controls_with_both_baselines_is_better() -> None:
    high = {"saliency_map": 0.3}
    assert "better than every control" in _line(_evaluation(blur=high, mean=high), "saliency_map predicts")


def test_a_difference_with_one_baseline_only_is_told_as_such() -> None:
    found = _evaluation(blur={"saliency_map": 0.3})
    line = _line(found, "saliency_map predicts")
    assert "better, with the blurred baseline only, than random" in line
    assert "every" not in line
    opposite = _evaluation(blur={"cam": 0.3}, mean={"cam": -0.3})
    assert "better or worse, by the baseline, than saliency_map" in _line(opposite, "cam is")


def test_equal_maps_are_not_told_apart() -> None:
    found = _evaluation()
    line = _line(found, "cam is", "differ")
    assert "cam is not shown to differ from saliency_map" in line
    assert "mean-colour)" in line
    assert "cam is not shown to predict what the network needs better or worse than any control" in _line(
        found, "cam is not shown to predict"
    )


def test_what_is_not_shown_is_said_of_those_controls_only() -> None:
    low = dict.fromkeys(("random", "blobs"), -0.3)
    line = _line(_evaluation(blur=low, mean=low), "saliency_map predicts")
    assert line.endswith(
        "better than random, blobs; no difference to centre, Sobel, edges × centre is shown."
    )


def test_one_of_twenty_pairs_of_figures_misleads() -> None:
    """Two figures that are alike, as with two baselines; each alone excludes 0 once in twenty times."""
    random, count, single, either = np.random.default_rng(5), 600, 0, 0
    for _ in range(count):
        shared, *own = random.standard_normal((3, 30))
        gaps = {str(k): estimate(0.84 * shared + 0.55 * one) for k, one in enumerate(own)}
        single += any(gap.excludes_zero for gap in gaps.values())
        either += any(signs_of(gaps).values())
    assert either / count < 0.065 < single / count


def test_two_narrow_intervals_count_as_one_wide_one_does() -> None:
    narrow, wide, none = (
        Estimate(2.0, 1.0, 3.0, (-0.1, 4.0)),
        Estimate(2.0, 1.0, 3.0, (0.1, 4.0)),
        Estimate(0.1, -1.0, 1.0, (-2.0, 2.0)),
    )
    assert signs_of({"a": narrow, "b": narrow}) == {"a": 1, "b": 1}
    assert signs_of({"a": narrow, "b": none}) == {"a": 0, "b": 0}
    assert signs_of({"a": wide, "b": none}) == {"a": 1, "b": 0}
    assert signs_of({"a": narrow}) == {"a": 1}


@pytest.mark.parametrize("count", [1, 2, 5])
def test_so_few_pictures_lead_to_no_conclusion(count: int) -> None:
    found = _evaluation(count, blur={"saliency_map": 9.0}, mean={"saliency_map": 9.0}, auc={"cam": 9.0})
    lines = conclusions(found)
    assert "too few for conclusions" in lines[0]
    assert len(lines) == 2
    assert "nan" not in table.text(found) + page.html(found)


@pytest.mark.parametrize(("count", "told"), [(6, "about two, if"), (29, "about two, if"), (30, "by chance.")])
def test_few_pictures_mislead_more_often(count: int, told: str) -> None:
    assert told in _line(_evaluation(count), "Of twenty differences")


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.9, 0.95, "it hardly depends on the class"),
        (0.6, 0.7, "it depends on the class in part"),
        (0.0, 0.2, "it depends on the class ("),
        (0.5, 1.0, "these pictures do not tell"),
        (0.2, 0.82, "these pictures do not tell"),
    ],
)
def test_what_is_said_of_the_class_holds_for_the_whole_interval(
    low: float, high: float, verdict: str
) -> None:
    """Half of twelve pictures have the low correlation, half the high one."""
    found = _evaluation(12, classes=lambda k: high if k % 2 else low)
    assert verdict in _line(found, "random class")


def test_pictures_with_a_constant_class_map_do_not_count() -> None:
    """As correlations of 0 they would read as dependence on the class."""
    found = _evaluation(40, classes=lambda k: None if k % 4 == 0 else 0.9)
    assert "it hardly depends on the class" in _line(found, "cam:", "random class")
    told = "left out of the rank correlations with itself for a random class (cam 10 of 40)"
    for report in (table.text(found), page.html(found), json.dumps(found.as_dict(), ensure_ascii=False)):
        assert told in report
    cells = found.as_dict()["class_dependence"]["cam"]
    assert (cells["mean"], cells["left_out"], cells["values"].count(None)) == (pytest.approx(0.9), 10, 10)
    assert found.as_dict()["edges"]["cam"]["left_out"] == 0


@pytest.mark.parametrize("rest", [0, 5])
def test_too_few_pictures_with_a_class_map_lead_to_no_conclusion(rest: int) -> None:
    found = _evaluation(12, classes=lambda k: 0.1 if k < rest else None)
    assert f"{rest} of 12 pictures have a map for each of two classes" in _line(found, "too few to tell")
    assert "nan" not in table.text(found) + page.html(found)
    json.dumps(found.as_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("levels", "verdict"),
    [
        ({"saliency_map": 0.8, "centre": 0.6}, "saliency_map finds the marked objects better than a guess"),
        (
            {"saliency_map": 0.6, "centre": 0.8},
            "guess at the centre finds the marked objects better than sal",
        ),
        ({"saliency_map": 0.7, "centre": 0.7}, "saliency_map is not shown to find the marked objects better"),
    ],
)
def test_the_centre_can_win_lose_or_draw(levels: Levels, verdict: str) -> None:
    assert verdict in " ".join(conclusions(_evaluation(auc=levels)))


@pytest.mark.parametrize(
    ("left", "verdict"),
    [
        (0.6, "a part of it shows the picture"),
        (0.1, "these pictures do not tell whether any of it remains"),
        (-0.3, "nothing of it remains"),
    ],
)
def test_only_a_map_that_survives_shuffling_is_said_to_show_the_picture(left: float, verdict: str) -> None:
    """Of neither case it follows that the map without a class tells whether a network has learnt."""
    found, random = _evaluation(), np.random.default_rng(1)

    def around(level: float) -> dict[str, list[float | None]]:
        return {name: [level + 0.05 * value for value in random.standard_normal(20)] for name in MAPS}

    found.sanity["all"], found.other_picture = around(left), around(0.1)
    for name in MAPS:
        line = _line(found, f"{name}: with all weights shuffled", verdict)
        warned = "Do not use the map alone to check whether a network has learnt" in line
        assert warned == (name == "saliency_map")
        assert line.endswith(".")
        assert line.count("Do not use") == (1 if warned or left == 0.6 else 0)


def test_a_shuffled_map_is_compared_on_the_pictures_where_it_shows_anything() -> None:
    """All pictures together, the map of another picture would agree more."""
    found = _evaluation()
    found.sanity["all"] = {"cam": [0.6, None] * 10}
    found.other_picture = {"cam": [0.1, 0.9] * 9 + [None, None]}
    line = _line(found, "cam: with all weights shuffled")
    assert "itself is 0.60, more than with the map of another picture (0.10)" in line
    (note,) = found.left_out()
    assert "itself, weights shuffled: all (cam 10 of 20); that of another picture (cam 2 of 20)" in note
    assert note in table.text(found)
    found.sanity["all"] = {"cam": [0.6] * 5 + [None] * 15}
    assert "5 of 20 pictures have a map that shows anything" in _line(found, "cam: with all weights")
    found.sanity["all"] = {name: [None] * 20 for name in MAPS}
    assert "nan" not in table.text(found) + page.html(found)


def test_every_figure_has_an_interval() -> None:
    high = {"saliency_map": 0.3}
    found = _evaluation(blur=high, mean=high, auc=high, classes=lambda k: k / 40)
    found.sanity["all"] = {name: [0.1, 0.2, 0.4, 0.3] for name in MAPS}
    found.other_picture = {name: [0.0, 0.2, 0.1, 0.3] for name in MAPS}
    rows = [row for rows in (table.main_rows(found), table.sanity_rows(found)) for row in rows[1:]]
    assert len(rows) == len(found.methods) + 4
    for row in rows:
        assert all(cell.endswith((")", "]")) for cell in row[1:] if cell)
    assert rows[-1][1] == ""  # saliency_map has no class


def test_table_page_and_json_share_their_estimates(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _evaluation(auc={"cam": 0.1}, classes=lambda k: k / 40)
    asked: list[tuple[float, ...]] = []

    def counted(values: Sequence[float], block: int = 1) -> Estimate:
        asked.append(tuple(values))
        return estimate(values, block)

    monkeypatch.setattr(bootstrap, "estimate", counted)
    for report in (table.text, page.html, Evaluation.as_dict):
        report(found)
    assert len(asked) == len(set(asked))
    found.pictures.append(replace(found.pictures[0], name="one more"))
    assert found.mean("pixel_auc", "cam") == estimate(found.values("pixel_auc", "cam"))


def test_no_picture_is_among_the_best_and_the_worst() -> None:
    found = _evaluation(3, blur={"saliency_map": 0.3})
    shown = [
        Example(f"{k}.jpg", "<cat>", k / 9, np.zeros((8, 8, 3), np.uint8), np.eye(8, dtype=np.float32))
        for k in range(3)
    ]
    found.best, found.worst = shown[::-1], shown
    text = page.html(found)
    assert [text.count(f"<br>{k}.jpg") for k in range(3)] == [1, 1, 1]
    assert "<cat>" not in text
