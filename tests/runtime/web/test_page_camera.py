"""The page in a real browser while a camera runs: hidden pages, other cameras, fingers and keyboards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from fastcam_runtime.web.server import SiteServer
from support.chromium import Chromium, Tab
from support.phone_page import ANSWER, DROP_BLUE, PATIENCE, again, click, text
from support.sites import FAKE_CAMERA, GRANTED, wait_ready

pytestmark = pytest.mark.browser

HIDDEN = """Object.defineProperty(document, "hidden", {{ get: () => {}, configurable: true }});
document.dispatchEvent(new Event("visibilitychange"))"""

KEEP_TRACKS = """{
  globalThis.tracks = [];
  const ask = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
  navigator.mediaDevices.getUserMedia = async (wish) => {
    const stream = await ask(wish);
    tracks.push(...stream.getTracks());
    return stream;
  };
}"""

STATES = "tracks.map((track) => track.readyState)"

SMALL_TARGETS = """[...document.querySelectorAll("button, input, [role=option]")]
  .filter((e) => e.checkVisibility()).map((e) => [e.id || e.innerText, e.getBoundingClientRect()])
  .filter(([, { width, height }]) => width < 44 || height < 44).map(([name]) => name)"""


@pytest.fixture
def camera_tab(tiny_site: Path, serve: Callable[[Path], SiteServer], browse: Callable[..., Chromium]) -> Tab:
    """The page with one of two cameras running; `tracks` has what it opened."""
    tab = browse(f"{FAKE_CAMERA}=device-count=2", GRANTED).open(f"http://127.0.0.1:{serve(tiny_site).port}/")
    wait_ready(tab)
    tab.evaluate(KEEP_TRACKS)
    click(tab, "#camera")
    tab.wait(ANSWER, PATIENCE)
    return tab


def test_hidden_page_gives_the_camera_back_and_takes_it_again(camera_tab: Tab) -> None:
    camera_tab.evaluate(HIDDEN.format("true"))
    assert camera_tab.evaluate(STATES) == ["ended"]
    again(camera_tab, HIDDEN.format("false"))
    assert camera_tab.evaluate(STATES) == ["ended", "live"]


def test_camera_goes_on_after_a_pause_in_which_the_page_was_hidden(camera_tab: Tab) -> None:
    click(camera_tab, "#pause")
    camera_tab.evaluate(HIDDEN.format("true"))
    camera_tab.evaluate(HIDDEN.format("false"))
    assert camera_tab.evaluate(STATES) == ["ended"]
    again(camera_tab, "document.getElementById('pause').click()")
    assert camera_tab.evaluate(STATES) == ["ended", "live"]


def test_photo_is_shown_although_the_camera_runs(camera_tab: Tab) -> None:
    camera_tab.evaluate(DROP_BLUE)
    camera_tab.wait(f"{ANSWER}.image.width === 300", PATIENCE)
    assert text(camera_tab, "label") == "blue"
    assert camera_tab.evaluate(STATES) == ["ended"]
    assert camera_tab.evaluate("document.querySelector('[data-figure=fps]') === null") is True
    assert camera_tab.evaluate("document.getElementById('result').ariaLive") == "polite"


def test_other_camera_goes_on_at_once(camera_tab: Tab) -> None:
    camera_tab.wait("!document.getElementById('switch').hidden")
    for count in (2, 3):
        again(camera_tab, "document.getElementById('switch').click()")
        camera_tab.wait(f"tracks.length === {count}", PATIENCE)
        again(camera_tab, "0")
        assert camera_tab.evaluate(STATES) == ["ended"] * (count - 1) + ["live"]


def test_lost_camera_is_told(camera_tab: Tab) -> None:
    camera_tab.evaluate("tracks[0].dispatchEvent(new Event('ended'))")
    camera_tab.wait("!document.getElementById('error').hidden")
    assert text(camera_tab, "error").startswith("The camera has stopped")


def test_fingers_keyboards_and_screen_readers_reach_everything(camera_tab: Tab) -> None:
    tab = camera_tab
    tab.evaluate("tracks[0].dispatchEvent(new Event('ended'))")  # no frames that keep the processor busy
    assert tab.evaluate("document.activeElement.id") == "stage"  # the button that had the focus is hidden
    tab.evaluate("document.getElementById('class').focus()")
    tab.type("re")
    for size in ((390, 844), (844, 390)):
        tab.resize(*size, mobile=True)
        assert tab.evaluate(SMALL_TARGETS) == []
    assert tab.evaluate("[...document.querySelectorAll('#candidates li')].map((e) => e.innerText)") == [
        "red",
        "green",
    ]
    active = "document.getElementById(document.getElementById('class').getAttribute('aria-activedescendant'))"
    assert tab.evaluate(f"{active}.innerText") == "red"
    tab.press("ArrowDown", 40)
    assert tab.evaluate(f"[{active}.innerText, {active}.ariaSelected]") == ["green", "true"]
    tab.press("Escape", 27)
    assert tab.evaluate("document.getElementById('class').ariaExpanded") == "false"
    assert tab.evaluate("document.getElementById('class').value") == "re"
    named = {
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in tab.call("Accessibility.getFullAXTree")["nodes"]
        if not node["ignored"]
    }
    assert {
        ("image", "The picture with its map"),
        ("combobox", "Explain another class"),
        ("group", "View"),
    } <= named
    assert ("button", "") not in named
