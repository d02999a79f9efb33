"""The paper's tables, recomputed from its own raw figures."""

from __future__ import annotations

import re

import numpy as np
import pytest
from fastcam_export.analysis.flops import count_flops
from support.shared_data import shared

from benchmarks.quality.retraining.scores import (
    difference_score,
    information_score,
    quartile_shares,
    retrain_sums,
)

RESNET50 = [(64, 112, 112), (256, 56, 56), (512, 28, 28), (1024, 14, 14), (2048, 7, 7)]
SETS = ("ImageNet", "Places", "COWC")
SHORT = {
    "Standard Dev": "STD",
    "Normal Mean": "Mean",
    "Shanon Ent": "Shannon Ent",
    "Log Normal Ent": "Log Normal ENT",
}


def _rows(label: str) -> list[list[str]]:
    """The rows of the table with a label in the LaTeX source, as text cells."""
    text = shared("paper/efficient-saliency-maps.tex.txt").read_text()
    table = text[text.index(f"\\label{{{label}}}") :]
    table = table[: table.index("\\end{tabular}")]
    table = re.sub(r"\\emph\{([^}]*)\}", r"\1", table)
    table = re.sub(r"\\(hline|noalign\{[^}]*\}|rowcolor\{[^}]*\})|\s+", " ", table)
    rows = [row.replace("{\\bf", "").replace("}", "").split("&") for row in table.split("\\\\")]
    return [[cell.strip() for cell in row] for row in rows if len(row) > 3]


def _layers() -> dict[str, dict[str, np.ndarray]]:
    """KAR L1…L5 and ROAR L1…L5 by data set and method, 0…1."""
    found: dict[str, dict[str, np.ndarray]] = {}
    for row in _rows("table:app_sum_kar_roar"):
        if not re.fullmatch(r"[\d.]+", row[-1]):
            continue
        name = re.sub(r"^.*\s{2,}", "", row[0]).strip()
        values = np.array(row[1:], float) / 100
        if name.endswith("Random"):
            name = "Random"
            found[SETS[len(found)]] = {}
        if name not in ("Best", "Worst"):
            found[SETS[len(found) - 1]][name] = values
    return found


def _scores(score: object, data: str) -> dict[str, float]:
    layers = _layers()[data]
    z = layers["Random"]
    return {m: score(v[:5], v[5:], z[:5], z[5:]) for m, v in layers.items() if m != "Random"}  # type: ignore[operator]


def test_the_flop_table_of_resnet_50() -> None:
    counts = count_flops(RESNET50, (224, 224))
    assert [c.smoe for c in counts] == [3223808, 3214400, 1606416, 803012, 401457]
    assert [c.norm for c in counts] == [150528, 37632, 9408, 2352, 588]
    assert [c.combine for c in counts] == [225792, 338688, 338688, 338688, 338688]
    assert sum(c.total for c in counts) == 11_030_145


def _published(first: int) -> dict[str, list[float]]:
    """The summary table by method: ImageNet, Places, COWC and the mean, of difference or information."""
    found = {}
    for row in _rows("table:null_hyp_kar_roar"):
        if re.fullmatch(r"[\d.]+", row[-1]):
            name = re.sub(r"^.*\s{2,}", "", row[0]).strip()
            found[SHORT.get(name, name)] = [float(cell) for cell in row[first : first + 4]]
    return found


def test_the_information_scores_follow_with_the_natural_logarithm_in_36_of_36_cells() -> None:
    published = _published(5)
    computed = {data: _scores(information_score, data) for data in SETS}
    assert len(published) == 9
    for method, row in published.items():
        means = [computed[data][method] for data in SETS]
        assert [*means, np.mean(means)] == pytest.approx(row, abs=0.0075)
    # With log2 they would all be 44 % larger.
    assert computed["ImageNet"]["SMOE Scale"] / np.log(2) > 1.6


def test_the_difference_scores_follow_but_for_seven_of_imagenets_nine() -> None:
    published = _published(1)
    matches = []
    for number, data in enumerate(SETS):
        computed = _scores(difference_score, data)
        matches.append(sum(abs(computed[m] - row[number]) < 0.005 for m, row in published.items()))
    assert matches == [2, 9, 9]
    assert _scores(difference_score, "ImageNet")["SMOE Scale"] == pytest.approx(1.7058)
    assert _scores(difference_score, "ImageNet")["Log Normal Mean"] == pytest.approx(1.0855)


def _by_condition() -> dict[str, list[float]]:
    """The information score of each method in the 15 conditions: three data sets by five layers."""
    values: dict[str, list[float]] = {}
    for data in SETS:
        layers = _layers()[data]
        z = layers["Random"]
        for method in [name for name in layers if name != "Random"]:
            v = layers[method]
            for k in range(5):
                one = information_score([v[k]], [v[5 + k]], [z[k]], [z[5 + k]])
                values.setdefault(method, []).append(one)
    return values


def test_the_quartiles_of_the_information_score_follow_in_27_of_27_cells() -> None:
    shares = quartile_shares(_by_condition())
    compared = 0
    for row in _rows("table:quartile_ranking")[1:]:
        printed = [float(cell.removesuffix("\\%")) / 100 for cell in row[4:7]]
        assert shares[SHORT.get(row[0], row[0])] == pytest.approx(printed, abs=0.0001)
        compared += 3
    assert compared == 27


def test_kar_and_roar_sums_follow_but_for_two_that_are_swapped() -> None:
    sums = {}
    for row in _rows("table:app_comp_kar_roar"):
        if re.fullmatch(r"[\d.]+", row[-1]):
            values = np.array(row[1:], float) / 100
            sums[re.sub(r"^.*\s{2,}", "", row[0]).strip()] = retrain_sums(values[:5], values[5:])
    assert sums["SMOE Scale + Prior Layer Weights"] == pytest.approx((3.61, -2.31, 1.30), abs=0.005)
    assert sums["SMOE Scale -w- GradCAM++"] == pytest.approx((3.66, -2.22, 1.44), abs=0.005)
    assert sums["GradCAM++"] == pytest.approx((3.64, -2.27, 1.37), abs=0.005)
    assert sums["Gradient -w- SmoothGrad Sq."] == pytest.approx((3.52, -2.12, 1.41), abs=0.005)
    # Printed: Integrated Gradients 0.03, Guided Backprop 0.04.
    assert sums["Integrated Grad."][2] == pytest.approx(0.04, abs=0.001)
    assert sums["Guided Backprop"][2] == pytest.approx(0.03, abs=0.003)
