"""The page: what it says at a glance, and that it fits its window."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastcam_export.evaluate.measures.flicker import Flicker
from fastcam_export.evaluate.measures.perturbation import LEVELS
from fastcam_export.evaluate.metrics import METRICS, SHOWN
from fastcam_export.evaluate.report import page
from fastcam_export.evaluate.report.verdicts import BAD, GOOD, OPEN, PART, QUESTIONS, verdicts
from fastcam_export.evaluate.results import Evaluation
from support.chromium import Chromium, find_chromium
from support.evaluations import MAPS, evaluation

Answers = list[tuple[str, str] | None]


def _answers(found: Evaluation, name: str) -> Answers:
    return [None if one is None else (one.mark, one.short) for one in verdicts(found)[name]]


def test_a_good_class_map() -> None:
    found = evaluation(40, {"cam": 0.9}, classes=0.1)
    found.sanity["all"] = {name: [0.1, 0.2, 0.15, 0.3, 0.2, 0.1] for name in MAPS}
    found.other_picture = {name: [0.6, 0.5, 0.45, 0.6, 0.5, 0.7] for name in MAPS}
    assert _answers(found, "cam") == [
        (GOOD, "yes"),
        (GOOD, "yes"),
        (GOOD, "nothing"),
        (GOOD, "better than the centre"),
    ]
    learnt = verdicts(found)["saliency_map"][2]
    assert learnt is not None
    assert "do not use it alone to check whether a network has learnt" in learnt.figure


def test_a_bad_class_map() -> None:
    found = evaluation(40, {"cam": 0.1}, classes=0.95)
    found.sanity["all"] = {name: [0.7, 0.8, 0.75, 0.7, 0.6, 0.8] for name in MAPS}
    found.other_picture = {name: [0.2, 0.1, 0.25, 0.2, 0.1, 0.3] for name in MAPS}
    assert _answers(found, "cam") == [
        (BAD, "no"),
        (BAD, "hardly"),
        (PART, "a part that was not learnt"),
        (BAD, "worse than the centre"),
    ]


def test_weights_that_leave_it_open_are_no_verdict() -> None:
    found = evaluation(40)
    found.sanity["all"] = {name: [0.1, 0.2, 0.1, 0.3, 0.2, 0.1] for name in MAPS}
    found.other_picture = {name: [0.2, 0.1, 0.2, 0.2, 0.1, 0.3] for name in MAPS}
    assert _answers(found, "cam")[2] == (OPEN, "not clear")


def test_what_is_not_measured_or_not_told_is_no_verdict() -> None:
    found = evaluation(40)
    needs, of_class, learnt, objects = _answers(found, "saliency_map")
    assert needs is not None
    assert needs[0] == OPEN
    assert of_class is None  # the map has no class
    assert learnt is None
    assert objects == (OPEN, "no better shown than the centre")
    assert _answers(found, "cam")[1] is None
    assert verdicts(evaluation(5)) == {}


def test_a_part_of_the_controls_is_a_part() -> None:
    found = evaluation(40, {"cam": 0.9, "Sobel": 0.9})
    needs = verdicts(found)["cam"][0]
    assert needs is not None
    assert (needs.mark, needs.figure) == (PART, "better than 4 of 5 controls")


def test_the_page_begins_with_a_verdict_for_each_map() -> None:
    text = page.html(evaluation(40, {"cam": 0.9}))
    heads = re.findall(r"<h[23]>([^<]+)", text)
    assert heads[:5] == ["Conclusions", *MAPS, "Figures"]
    assert text.count(QUESTIONS[0]) == len(MAPS)
    assert "<h3>" not in page.html(evaluation(5))


def test_every_head_says_which_way_is_better() -> None:
    text = page.html(evaluation(8))
    heads = re.findall(r"<th>([^<]*)</th>", text)
    for metric in (METRICS[name] for name in SHOWN):
        assert f"{metric.title} {'↑' if metric.higher_is_better else '↓'}" in heads
    assert "↑ higher is better, ↓ lower is better" in text


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    if find_chromium() is None:
        pytest.skip("there is no Chromium")
    chromium = Chromium(tmp_path_factory.mktemp("profile"))
    yield chromium
    chromium.close()


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize(("width", "scrolled"), [(1280, False), (390, True)])
def test_the_page_fits_its_window(browser: Chromium, tmp_path: Path, width: int, scrolled: bool) -> None:
    """The window itself never scrolls sideways, and the name of a row stays in view in a table that does."""
    found = evaluation(8, classes=0.3)
    found.file = "a-file-with-a-long-name-that-has-no-place-to-break-it/" * 3
    for one in found.pictures:
        for kind in ("insertion_blur", "deletion_blur"):
            one.curves[kind] = {name: [k / len(LEVELS) for k in range(len(LEVELS))] for name in found.methods}
    found.sanity = {
        step: {name: [-0.1, -0.2, -0.4] for name in MAPS}
        for step in ("last weights", "last quarter", "last half", "all")
    }
    found.flicker = {name: Flicker(11.5, 22.25, 0.987, 31, (1.0, 2.0) * 15, (1.0,) * 30) for name in MAPS}
    path = tmp_path / "page.html"
    path.write_text(page.html(found))
    tab = browser.open(path.as_uri(), (width, 800))
    tab.resize(width, 800, mobile=width < 500)
    tab.wait("document.readyState == 'complete' && document.title")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    clipped = (
        "[...document.querySelectorAll('svg text')].filter(text => { const box = text.getBBox(), "
        "view = text.ownerSVGElement.viewBox.baseVal; "
        "return box.x < 0 || box.x + box.width > view.width || box.y + box.height > view.height; })"
    )
    assert tab.evaluate(f"{clipped}.map(text => text.textContent)") == []
    assert tab.evaluate(
        "[...document.querySelectorAll('svg')].every(plot => "
        "plot.getBoundingClientRect().right <= document.documentElement.clientWidth)"
    )
    wider = "(() => { const box = document.querySelector('.scroll'); box.scrollLeft = 200; return box; })()"
    assert tab.evaluate(f"{wider}.scrollLeft > 0") == scrolled
    assert tab.evaluate(
        f"(() => {{ const box = {wider}, cell = box.querySelector('tr:nth-child(3) td'); "
        "return Math.abs(cell.getBoundingClientRect().left - box.getBoundingClientRect().left); })()"
    ) == pytest.approx(0, abs=1)
