"""The live page in a real browser."""

from __future__ import annotations

import numpy as np
import pytest
from fastcam_runtime.live.controls import Controls
from fastcam_runtime.sinks import Status
from fastcam_runtime.sinks.live_page.page import LivePage
from support.chromium import Chromium, Tab
from support.paging import Loop

pytestmark = pytest.mark.browser


COLOUR = """(() => {
    const picture = document.getElementById("picture"), canvas = document.createElement("canvas");
    if (!picture?.naturalWidth) return "";
    [canvas.width, canvas.height] = [picture.naturalWidth, picture.naturalHeight];
    const context = canvas.getContext("2d");
    context.drawImage(picture, 0, 0);
    const pixel = context.getImageData(canvas.width / 2, canvas.height / 2, 1, 1).data;
    return ["red", "green", "blue"][[0, 1, 2].find((channel) => pixel[channel] > 150)];
})()"""


def text(tab: Tab, name: str) -> str:
    return str(tab.evaluate(f"document.getElementById({name!r}).innerText"))


def button(name: str) -> str:
    return f"[...document.querySelectorAll('button')].find((button) => button.textContent === {name!r})"


def test_buttons_change_the_picture_for_both_viewers(chromium: Chromium, loop: Loop) -> None:
    first, second = chromium.open(loop.url), chromium.open(loop.url, size=(390, 844))
    for tab in (first, second):
        tab.wait(f"{COLOUR} === 'red'")
    first.click(button("map"))
    for tab in (first, second):
        tab.wait(f"{COLOUR} === 'green'")
        tab.wait(f"{button('map')}.getAttribute('aria-pressed') === 'true'")
    second.click(button("side"))
    for tab in (first, second):
        tab.wait(f"{COLOUR} === 'blue'")
    assert loop.controls.view == "side"


def test_page_shows_label_score_speed_and_latency_live(chromium: Chromium, loop: Loop) -> None:
    tab = chromium.open(loop.url)
    tab.wait("document.getElementById('connection')?.textContent === 'live · 640×480'")
    # As text: a label cannot put markup into the page.
    assert text(tab, "label") == "<b>cat & dog</b>"
    assert text(tab, "score") == "87.5 %"
    assert (text(tab, "fps"), text(tab, "dropped")) == ("24.5", "3")
    assert text(tab, "stages").split("\n")[:4] == ["capture", "1.5 ms", "inference", "20.3 ms"]
    frame = int(text(tab, "frame"))
    tab.wait(f"Number(document.getElementById('frame').textContent) > {frame}")
    for width in (320, 390, 1280):
        tab.resize(width, 700)
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"overflows at {width}"


def test_refused_class_is_explained_and_a_good_one_taken(chromium: Chromium, loop: Loop) -> None:
    tab = chromium.open(loop.url)
    tab.wait(button("map"))
    tab.click("document.getElementById('class')")
    tab.type("<i>dog</i>")
    tab.press_enter()
    tab.wait("!document.getElementById('error').hidden")
    assert text(tab, "error") == "no class '<i>dog</i>'; closest: tabby"
    assert loop.controls.class_choice is None
    tab.evaluate("document.getElementById('class').select()")
    tab.type("tabby")
    tab.click(button("Set"))
    tab.wait("document.getElementById('note').textContent.includes('“tabby”')")
    assert tab.evaluate("document.getElementById('error').hidden")
    assert loop.controls.class_choice == "tabby"


def test_no_class_is_asked_for_where_none_can_be_chosen(chromium: Chromium) -> None:
    sink = LivePage("http://:0", Controls(("overlay",), has_classes=False))
    try:
        sink.write(np.zeros((48, 64, 3), np.uint8), Status(0))
        tab = chromium.open(sink.url)
        tab.wait("document.getElementById('note')?.textContent === 'This model has no class maps.'")
        assert not tab.evaluate("document.getElementById('class').checkVisibility()")
    finally:
        sink.close()


def test_pause_and_go_on(chromium: Chromium, loop: Loop) -> None:
    tab = chromium.open(loop.url)
    tab.wait("document.getElementById('connection')?.dataset.state === 'live'")
    tab.click(button("Pause"))
    tab.wait(f"{button('Resume')} && !document.getElementById('held').hidden")
    assert loop.controls.paused
    tab.click(button("Resume"))
    tab.wait(f"{button('Pause')} && document.getElementById('held').hidden")
    assert not loop.controls.paused


def test_page_finds_a_restarted_device(chromium: Chromium) -> None:
    before = Loop()
    tab = chromium.open(before.url)
    tab.wait(f"{COLOUR} === 'red'")
    before.close()
    tab.wait("document.getElementById('connection').textContent === 'connection lost'")
    after = Loop(f"http://127.0.0.1:{before.port}")
    try:
        after.controls.set_view("map")
        tab.wait(f"{COLOUR} === 'green'")
    finally:
        after.close()


def test_page_tells_that_no_more_pictures_come(chromium: Chromium) -> None:
    sink = LivePage("http://:0", Controls(("overlay",)))
    try:
        picture = np.zeros((48, 64, 3), np.uint8)
        sink.write(picture, Status(0, fps=30.0))
        tab = chromium.open(sink.url)
        tab.wait("document.getElementById('connection')?.textContent.startsWith('no new picture for ')")
        assert text(tab, "fps") == "–"
        sink.write(picture, Status(1, fps=30.0))
        tab.wait("document.getElementById('connection').textContent === 'live · 64×48'")
    finally:
        sink.close()


def test_page_with_a_token(chromium: Chromium) -> None:
    loop = Loop(token="s3cret-token")
    try:
        tab = chromium.open(loop.url)
        tab.wait("document.body.innerText.includes('401')")
        tab = chromium.open(f"{loop.url}?token=s3cret-token")
        tab.wait(f"{COLOUR} === 'red'")
        assert tab.evaluate("location.href") == loop.url
        assert tab.evaluate("document.cookie") == ""
        tab.click(button("map"))
        tab.wait(f"{COLOUR} === 'green'")
    finally:
        loop.close()
