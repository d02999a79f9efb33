"""The head of docs/quality.md says what the figures show, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.quality import reference, study_plan
from benchmarks.quality.evaluations import OBJECTS, PICTURES, PLUSPLUS
from benchmarks.quality.tables.summary import summary_section


def _evaluated(own: float, low: float, high: float, edges: tuple[float, float]) -> dict[str, object]:
    """A result of `evaluate` with the class dependence, and with edges × centre's difference to the map."""
    one = {"mean": 0.5, "difference": {"mean": sum(edges) / 2, "low": edges[0], "high": edges[1]}}
    figures = {"pointing": one, "energy": one, "pixel_auc": one}
    return {
        "stopped": False,
        "pictures": [{}] * 40,
        "summary": dict.fromkeys(("saliency_map", "fastcam", "centre", "edges × centre"), figures),
        "class_dependence": {"cam": {"mean": own, "low": low, "high": high}},
        "sanity": {}, "other_picture": {}, "edges": {}, "flicker": {},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.9, 0.97, "hardly depends on the class"),
        (0.6, 0.7, "depends on the class in part"),
        (0.3, 0.4, "depends on the class"),
        (0.4, 0.6, "leaves open how much it depends on the class"),
    ],
)
def test_the_head_says_of_class_maps_only_what_their_intervals_show(
    low: float, high: float, words: str, tmp_path: Path
) -> None:
    for file, interval in ((PICTURES[0].file, (0.1, 0.2)), (PLUSPLUS.file, (low, high))):
        content = _evaluated(0.5, *interval, (0.0, 0.0))
        content["summary"] = {}
        (tmp_path / file).write_text(json.dumps(content))
    reference.accept(tmp_path, tmp_path / "reference")
    text = " ".join(summary_section({}, tmp_path / "reference", []).split())
    assert f"So Grad-CAM depends on the class, and Grad-CAM++ {words}." in text


@pytest.mark.parametrize(
    ("difference", "verdict"),
    [((-0.2, -0.1), "better"), ((-0.1, 0.1), "not shown to differ"), ((0.1, 0.2), "worse")],
)
def test_the_head_says_whether_objects_are_found_better_than_by_edges(
    difference: tuple[float, float], verdict: str, tmp_path: Path
) -> None:
    content = _evaluated(0.5, 0.4, 0.6, difference)
    (tmp_path / OBJECTS[0].file).write_text(json.dumps(content))
    reference.accept(tmp_path, tmp_path / "reference")
    text = " ".join(summary_section({}, tmp_path / "reference", []).split())
    assert text.startswith(f"## In short - Objects in 40 {OBJECTS[0].pictures}")
    assert text.count(f"edges × centre 0.50 ({verdict})") == 3


@pytest.mark.parametrize(("untrained", "follows"), [(0.1, False), (0.3, True), (0.4, True)])
def test_a_plausible_map_proves_nothing_if_an_untrained_one_is_as_good_as_edges(
    untrained: float, follows: bool
) -> None:
    maps = {name: [0.3] * 40 for name in ("saliency_map", study_plan.PRODUCT, study_plan.LAYERCAM_PRODUCT)}
    maps |= {"Sobel": [0.3] * 40, study_plan.UNTRAINED: [untrained] * 40}
    text = " ".join(summary_section({"A": maps}, Path("nowhere"), []).split())
    assert ("a plausible map does not show that a network has learnt" in text) == follows


def test_the_head_says_which_map_is_better_where() -> None:
    """Differences that are the same for every picture have an interval without width."""
    names = ("saliency_map", study_plan.PRODUCT, study_plan.LAYERCAM_PRODUCT, "Grad-CAM")
    maps = {name: [0.3] * 40 for name in names} | {"edges × centre": [0.2] * 40}
    scores = {
        "A": maps | {"Grad-CAM++": [0.2] * 40},
        "B": maps | {"Grad-CAM++": [0.4] * 40},
        "C": maps | {"Grad-CAM++": [0.2, 0.4] * 20},
    }
    text = " ".join(summary_section(scores, Path("nowhere"), []).split())
    assert "Against edges × centre: better on A, B and C." in text
    assert "Against Grad-CAM++: better on A, not shown to differ on C, worse on B." in text
