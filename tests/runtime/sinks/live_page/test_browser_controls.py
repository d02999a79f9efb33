"""The page's controls in a real browser: classes, views with their meaning, colours, recordings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastcam_runtime.classes import Prediction
from fastcam_runtime.live.metrics import STAGES
from fastcam_runtime.sinks.kept_folder import KeptFolder
from support.chromium import Chromium, Tab
from support.paging import Loop
from support.waiting import until

pytestmark = pytest.mark.browser

LIVE = "document.getElementById('connection')?.dataset.state === 'live'"


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Loop]:
    running = Loop(kept=KeptFolder(tmp_path / "kept", megabytes=50))
    yield running
    running.close()


def text(tab: Tab, name: str) -> str:
    return str(tab.evaluate(f"document.getElementById({name!r}).innerText"))


def listed(tab: Tab, name: str) -> list[str]:
    return list(tab.evaluate(f"[...document.getElementById({name!r}).children].map((row) => row.innerText)"))


def button(name: str) -> str:
    return f"[...document.querySelectorAll('button')].find((button) => button.textContent === {name!r})"


def test_candidates_appear_while_typing_and_can_be_clicked(chromium: Chromium, loop: Loop) -> None:
    tab = chromium.open(loop.url)
    tab.wait(LIVE)
    tab.click("document.getElementById('class')")
    tab.type("CAT")
    tab.wait("!document.getElementById('candidates').hidden")
    # Labels with this word, then labels that start with the text, then the rest; each in class order.
    assert [row.split("\n") for row in listed(tab, "candidates")] == [
        ["wild cat", "1"],
        ["tiger cat", "7"],
        ["catfish", "2"],
        ["concatenated", "0"],
    ]
    tab.click("document.querySelector('#candidates li:nth-child(3)')")
    until(lambda: loop.controls.class_choice == "catfish")
    tab.wait("document.getElementById('candidates').hidden")
    assert tab.evaluate("document.getElementById('class').value") == "catfish"


def test_candidates_with_the_keyboard(chromium: Chromium, loop: Loop) -> None:
    tab = chromium.open(loop.url)
    tab.wait(LIVE)
    tab.click("document.getElementById('class')")
    tab.type("cran")
    tab.wait("document.querySelectorAll('#candidates li').length === 2")
    for _ in range(2):
        tab.press("ArrowDown", 40)
    assert tab.evaluate("document.querySelector('[aria-selected=true]').innerText") == "crane\n6"
    tab.press_enter()
    # Two classes have this label: the index tells which.
    until(lambda: loop.controls.class_choice == "6")


def test_best_classes_stay_visible_and_can_be_explained(chromium: Chromium, loop: Loop) -> None:
    loop.top = (
        Prediction(4, "tabby", 0.5),
        Prediction(7, "tiger cat", 0.25),
        Prediction(2, "catfish", 0.125),
        Prediction(3, "dog", 0.0625),
        Prediction(0, "<i>x</i>", 0.03),
    )
    tab = chromium.open(loop.url)
    tab.wait("document.querySelectorAll('#top li').length === 5")
    assert [row.split("\n") for row in listed(tab, "top")][:2] == [
        ["tabby", "50.0 %"],
        ["tiger cat", "25.0 %"],
    ]
    assert listed(tab, "top")[4].startswith("<i>x</i>")
    assert tab.evaluate("document.getElementById('explained').hidden")
    tab.click("document.querySelectorAll('#top button')[2]")
    until(lambda: loop.controls.class_choice == "catfish")
    tab.wait("!document.getElementById('explained').hidden")
    # The explained class differs from the most likely one, and both are shown.
    assert text(tab, "label") == "tabby"
    assert text(tab, "explained-label") == "<b>cat & dog</b>"
    tab.click("document.getElementById('explain-best')")
    until(lambda: loop.controls.class_choice is None)
    tab.wait("document.getElementById('explained').hidden")


def test_views_say_what_they_mean(chromium: Chromium, loop: Loop) -> None:
    tab = chromium.open(loop.url)
    tab.wait(LIVE)
    tab.wait("document.getElementById('meaning').innerText.startsWith('Where the network looks')")
    assert tab.evaluate("getComputedStyle(document.getElementById('scale-bar')).backgroundImage").startswith(
        "linear-gradient(to right, rgb(0, 0, 4)"
    )
    assert tab.evaluate("document.getElementById('lovi').hidden")
    tab.click(button("side"))
    tab.wait("document.getElementById('meaning').innerText.includes('beside it')")


def test_opacity_and_colours(chromium: Chromium, loop: Loop) -> None:
    tab = chromium.open(loop.url)
    tab.wait(LIVE)
    assert tab.evaluate("document.getElementById('alpha').value") == "0.9"
    tab.evaluate(
        "(() => { const alpha = document.getElementById('alpha'); alpha.value = 0.3; "
        "alpha.dispatchEvent(new Event('input')); })()"
    )
    until(lambda: loop.controls.look is not None and loop.controls.look.alpha == 0.3)
    tab.evaluate(
        "(() => { const names = document.getElementById('colormap'); names.value = 'gray'; "
        "names.dispatchEvent(new Event('change')); })()"
    )
    until(lambda: loop.controls.look == ("gray", 0.3))
    drawn = "getComputedStyle(document.getElementById('scale-bar')).backgroundImage"
    tab.wait(f"{drawn}.endsWith('rgb(255, 255, 255))')")


def test_record_stop_and_download(chromium: Chromium, recording: Loop) -> None:
    tab = chromium.open(recording.url)
    tab.wait(LIVE)
    assert "Nothing recorded yet" in text(tab, "recordings-note")
    tab.click(button("Record"))
    tab.wait(f"{button('Stop')} && !document.getElementById('recording-mark').hidden")
    tab.wait("document.getElementById('recording-time').innerText !== '0:00'")
    tab.click(button("Stop"))
    tab.wait("document.querySelectorAll('#recordings a').length === 1")
    tab.wait(f"{button('Record')} && document.getElementById('recording-mark').hidden")
    size, kind = tab.evaluate(
        "fetch(document.querySelector('#recordings a').href)"
        ".then(async (got) => [(await got.blob()).size, got.headers.get('Content-Type')])"
    )
    assert kind == "video/mp4"
    folder = recording.sink._recorder.folder  # type: ignore[attr-defined]
    assert [kept.bytes for kept in folder.kept()] == [size]


def test_history_metrics_and_health(chromium: Chromium, loop: Loop) -> None:
    for _ in range(5):
        loop.metrics.add(dict.fromkeys(STAGES[:-2], 1.0), end_to_end=8.0)
    loop.metrics.history.extend([10, 20, 15])
    tab = chromium.open(loop.url)
    tab.wait("document.getElementById('history')?.hidden === false")
    assert "highest 20 / s" in text(tab, "history")
    assert text(tab, "stages").split("\n")[-4:] == ["waiting", "3.0 ms", "end to end", "8.0 ms"]
    loop.metrics.add({}, end_to_end=8.0)
    assert tab.evaluate("fetch('/healthz').then((got) => got.text())") == "ok\n"
    assert "fastcam_frames_total 6\n" in tab.evaluate("fetch('/metrics').then((got) => got.text())")


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1280, 800), (320, 600)])
def test_nothing_is_cut_off(chromium: Chromium, recording: Loop, width: int, height: int) -> None:
    recording.top = (Prediction(0, "a label that is far too long for one line of a phone " * 3, 0.5),)
    tab = chromium.open(recording.url, size=(width, height))
    tab.wait(f"{LIVE} && document.querySelectorAll('#top li').length === 1")
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    # Buttons are large enough for a finger.
    small = "[...document.querySelectorAll('.actions > *, #views button')].filter((b) => b.offsetHeight < 44)"
    assert tab.evaluate(f"{small}.length") == 0
