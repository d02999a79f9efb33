"""The page in a real browser."""

from __future__ import annotations

import base64
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest
from fastcam_runtime import Explainer
from fastcam_runtime import overlay as draw_overlay
from fastcam_runtime.web import server as server_module
from fastcam_runtime.web.server import SiteServer
from support.chromium import Chromium, Tab
from support.sites import FAKE_CAMERA, GRANTED, wait_ready

pytestmark = pytest.mark.browser

ANSWER = "document.getElementById('picture').answer"
PATIENCE = 180.0

FRAME_AND_MAP = """(() => {
  const { image, maps } = document.getElementById("picture").answer;
  const canvas = new OffscreenCanvas(image.width, image.height), context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const text = (bytes) => {
    let all = "";
    for (const byte of bytes) all += String.fromCharCode(byte);
    return btoa(all);
  };
  const [[name, map]] = Object.entries(maps);
  return { width: image.width, height: image.height, name,
    frame: text(context.getImageData(0, 0, image.width, image.height).data),
    map: text(new Uint8Array(map.data.buffer, map.data.byteOffset, map.data.byteLength)) };
})()"""

PIXELS = """(() => {
  const canvas = document.getElementById("picture");
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let all = "";
  for (let i = 0; i < data.length; i += 4) all += String.fromCharCode(data[i], data[i + 1], data[i + 2]);
  return { width: canvas.width, height: canvas.height, data: btoa(all) };
})()"""

DROP_BLUE = """(async () => {
  const canvas = new OffscreenCanvas(300, 200), context = canvas.getContext("2d");
  context.fillStyle = "rgb(0, 0, 255)";
  context.fillRect(0, 0, 300, 200);
  const transfer = new DataTransfer();
  transfer.items.add(new File([await canvas.convertToBlob()], "blue.png", { type: "image/png" }));
  document.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, cancelable: true }));
})()"""

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


def click(tab: Tab, name: str) -> None:
    tab.evaluate(f"document.querySelector({name!r}).click()")


def text(tab: Tab, name: str) -> str:
    return str(tab.evaluate(f"document.getElementById({name!r}).innerText"))


def shown(tab: Tab) -> np.ndarray:
    """The picture on the page, RGB."""
    pixels = tab.evaluate(PIXELS)
    data = np.frombuffer(base64.b64decode(pixels["data"]), np.uint8)
    return data.reshape(pixels["height"], pixels["width"], 3).astype(int)


def explained(tab: Tab) -> tuple[np.ndarray, str, np.ndarray]:
    """The frame (BGR), the name of its map, and the map."""
    found = tab.evaluate(FRAME_AND_MAP)
    frame = np.frombuffer(base64.b64decode(found["frame"]), np.uint8)
    frame = frame.reshape(found["height"], found["width"], 4)
    kind = np.uint8 if found["name"] == "saliency_lovi" else np.float32
    return (
        cv2.cvtColor(frame, cv2.COLOR_RGBA2BGR),
        found["name"],
        np.frombuffer(base64.b64decode(found["map"]), kind),
    )


def again(tab: Tab, what: str) -> None:
    """Do something that makes the page explain its picture again, and wait for the result."""
    tab.evaluate(f"{ANSWER}.seen = true")
    tab.evaluate(what)
    tab.wait(f"!{ANSWER}.seen", PATIENCE)


def test_camera_label_map_views_class_pause_and_offline(
    cat_site: Path, cat_clip: Path, serve: Callable[[Path], SiteServer], browse: Callable[..., Chromium]
) -> None:
    server = serve(cat_site)
    url = f"http://127.0.0.1:{server.port}/"
    browser = browse(FAKE_CAMERA, GRANTED, f"--use-file-for-fake-video-capture={cat_clip}")
    tab = browser.open(url)
    wait_ready(tab)
    # The service worker has added the headers that threads need.
    assert tab.evaluate("crossOriginIsolated") is True

    click(tab, "#camera")
    tab.wait(ANSWER, PATIENCE)
    assert text(tab, "label") == "Egyptian cat"
    assert tab.evaluate("document.querySelectorAll('#top li').length") == 5
    # An answer for the earlier view may come after the click.
    for view, output in (("lovi", "saliency_lovi"), ("cam", "saliency_cam"), ("overlay", "saliency_map")):
        click(tab, f"[data-view={view}]")
        tab.wait(f"Object.keys({ANSWER}.maps)[0] === {output!r}", PATIENCE)
    assert tab.evaluate("document.getElementById('error').hidden") is True
    click(tab, "#pause")
    tab.wait("!document.getElementById('held').hidden", PATIENCE)
    again(tab, "document.querySelector('[data-view=overlay]').click()")

    # The same frame gives the same map in Python.
    explain = Explainer(next(cat_site.parent.glob("*.onnx")), compiled=False)
    frame, name, saliency = explained(tab)
    wanted = explain(frame)
    assert name == "saliency_map"
    np.testing.assert_allclose(saliency.reshape(224, 224), wanted.maps[name], atol=1e-3, rtol=0)

    # The picture is that of the runtime's default blend, and not the bare frame.
    overlay = shown(tab)
    drawn = draw_overlay(frame, saliency.reshape(224, 224), wanted.geometry)
    assert np.abs(overlay - drawn[..., ::-1]).max() <= 3
    assert np.abs(overlay - frame[..., ::-1]).max() > 100

    for view, output in (("map", "saliency_map"), ("cam", "saliency_cam"), ("lovi", "saliency_lovi")):
        again(tab, f"document.querySelector('[data-view={view}]').click()")
        assert explained(tab)[1] == output
        assert np.abs(shown(tab) - overlay).mean() > 5
        assert tab.evaluate("document.getElementById('legend').hidden") is (view == "lovi")
    assert tab.evaluate("document.querySelectorAll('#layers li').length") == 5

    tab.evaluate("document.getElementById('class').focus()")
    tab.type("espresso")
    tab.wait("document.querySelector('#candidates li')?.textContent === 'espresso'")
    again(tab, "document.querySelector('#candidates li').click()")
    frame, name, saliency = explained(tab)
    wanted = explain.explain(frame, "espresso")[0]
    assert name == "saliency_fastcam"
    np.testing.assert_allclose(saliency.reshape(224, 224), wanted.maps[name], atol=1e-3, rtol=0)
    assert text(tab, "explained").startswith("The map is for “espresso”")
    assert text(tab, "label") == "Egyptian cat"

    # No requests to other servers.
    requests = [
        e["params"]["request"]["url"] for e in browser.events if e["method"] == "Network.requestWillBeSent"
    ]
    assert {f"{url}app.js", f"{url}page/worker.js"} <= set(requests)
    assert [r for r in requests if not r.startswith((url, "blob:http://127.0.0.1", "about:blank"))] == []

    # Without a server the page comes back from its cache, which has the large files unpacked.
    tab.wait("caches.match('model.onnx')", 60)
    size = "caches.match('model.onnx').then(async (found) => (await found.arrayBuffer()).byteLength)"
    assert tab.evaluate(size) == (cat_site / "model.onnx").stat().st_size
    code = "caches.match('ort/ort-wasm-simd-threaded.wasm')"
    assert tab.evaluate(f"{code}.then((found) => found.headers.get('content-type'))") == "application/wasm"
    tab.wait("caches.match('model.onnx.gz').then((found) => !found)", 60)
    server.close()
    tab = browser.open(url)
    wait_ready(tab)
    click(tab, "#clip")
    tab.wait(ANSWER, PATIENCE)


def test_denied_camera_is_explained_and_a_photo_still_works(
    tiny_site: Path, serve: Callable[[Path], SiteServer], browse: Callable[..., Chromium]
) -> None:
    url = f"http://127.0.0.1:{serve(tiny_site).port}/"
    browser = browse(FAKE_CAMERA)
    browser.call("Browser.setPermission", permission={"name": "camera"}, setting="denied", origin=url)
    tab = browser.open(url)
    wait_ready(tab)
    click(tab, "#camera")
    tab.wait("!document.getElementById('error').hidden")
    assert text(tab, "error").startswith("Camera access was denied.")
    tab.evaluate(DROP_BLUE)
    tab.wait(ANSWER, PATIENCE)
    assert text(tab, "label") == "blue"
    assert tab.evaluate("document.getElementById('pause').hidden") is True


def test_page_on_plain_http_tells_why_there_is_no_camera(
    tiny_site: Path, serve: Callable[[Path], SiteServer], browse: Callable[..., Chromium]
) -> None:
    # A name other than localhost is not a secure origin.
    browser = browse("--host-resolver-rules=MAP phone.test 127.0.0.1")
    tab = browser.open(f"http://phone.test:{serve(tiny_site).port}/")
    wait_ready(tab)
    assert text(tab, "status").startswith("Browsers allow camera access only on https pages.")
    assert tab.evaluate("document.getElementById('camera').disabled") is True
    assert tab.evaluate("document.getElementById('photo').disabled") is False


def test_browser_without_simd_is_told_so(
    tiny_site: Path, serve: Callable[[Path], SiteServer], browse: Callable[..., Chromium]
) -> None:
    browser = browse()
    tab = browser.open("about:blank")
    tab.call("Page.enable")
    tab.call("Page.addScriptToEvaluateOnNewDocument", source="WebAssembly.validate = () => false")
    tab.call("Page.navigate", url=f"http://127.0.0.1:{serve(tiny_site).port}/")
    tab.wait(
        "document.getElementById('status')?.textContent.startsWith('This browser has no WebAssembly SIMD.')"
    )


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


@pytest.mark.slow
def test_two_thousand_frames_do_not_grow_the_heap(
    tiny_site: Path, small_clip: Path, serve: Callable[[Path], SiteServer], browse: Callable[..., Chromium]
) -> None:
    browser = browse(f"{FAKE_CAMERA}=fps=60", GRANTED, f"--use-file-for-fake-video-capture={small_clip}")
    tab = browser.open(f"http://127.0.0.1:{serve(tiny_site).port}/")
    wait_ready(tab)
    click(tab, "#camera")
    tab.wait(ANSWER, PATIENCE)
    tab.evaluate("""{
        globalThis.frames = 0;
        const canvas = document.getElementById("picture");
        let last = canvas.answer;
        const set = (answer) => { last = answer; frames++; };
        Object.defineProperty(canvas, "answer", { get: () => last, set });
    }""")
    sizes = []
    for count in (200, 1100, 2000):
        tab.wait(f"frames >= {count}", 900)
        tab.call("HeapProfiler.collectGarbage")
        sizes.append(tab.call("Runtime.getHeapUsage")["usedSize"])
    print("JS heap after 200, 1,100 and 2,000 frames, bytes:", *sizes)
    assert sizes[2] - sizes[1] < 300_000, sizes


def test_measure_button_shows_a_report(
    tiny_site: Path, serve: Callable[[Path], SiteServer], browse: Callable[..., Chromium]
) -> None:
    tab = browse().open(f"http://127.0.0.1:{serve(tiny_site).port}/")
    wait_ready(tab)
    click(tab, "#clip")
    tab.wait(ANSWER, PATIENCE)
    click(tab, "#measure")
    tab.wait("!document.getElementById('report').hidden", PATIENCE)
    report = text(tab, "reporttext")
    assert "tiny.onnx, wasm" in report
    assert "the median of 40 differences" in report


SMALL_TARGETS = """[...document.querySelectorAll("button, input, [role=option]")]
  .filter((e) => e.checkVisibility()).map((e) => [e.id || e.innerText, e.getBoundingClientRect()])
  .filter(([, { width, height }]) => width < 44 || height < 44).map(([name]) => name)"""


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


def test_missing_worker_is_told(
    tiny_site: Path, tmp_path: Path, serve: Callable[[Path], SiteServer], browse: Callable[..., Chromium]
) -> None:
    shutil.copytree(tiny_site, tmp_path / "site")
    for path in (tmp_path / "site" / "page").glob("worker.js*"):
        path.unlink()
    tab = browse().open(f"http://127.0.0.1:{serve(tmp_path / 'site').port}/")
    tab.wait(
        "document.getElementById('status')?.textContent.startsWith('The model did not load: ')", PATIENCE
    )
    assert tab.evaluate("document.getElementById('progress').hidden") is True


def test_server_that_does_not_answer_does_not_hold_up_the_page(
    tiny_site: Path,
    serve: Callable[[Path], SiteServer],
    browse: Callable[..., Chromium],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url, browser = f"http://127.0.0.1:{serve(tiny_site).port}/", browse()
    wait_ready(browser.open(url))
    # As an address in a network that the phone has left.
    released = threading.Event()
    monkeypatch.setattr(server_module._Handler, "do_GET", lambda handler: released.wait())
    tab = browser.open(url)
    tab.wait("document.body?.dataset.ready", 60)
    released.set()


def test_sites_of_one_server_keep_their_own_files(
    tiny_site: Path,
    tmp_path: Path,
    serve: Callable[[Path], SiteServer],
    browse: Callable[..., Chromium],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("one", "two"):
        shutil.copytree(tiny_site, tmp_path / name)
    # Another version, as another model would be.
    site = tmp_path / "two" / "site.json"
    site.write_text(site.read_text().replace('"version": "', '"version": "2'))
    site.with_name("site.json.gz").unlink()
    url, browser = f"http://127.0.0.1:{serve(tmp_path).port}", browse()
    for name in ("one", "two"):
        wait_ready(browser.open(f"{url}/{name}/index.html"))
    monkeypatch.setattr(server_module._Handler, "do_GET", lambda handler: handler.connection.close())
    for name in ("two", "one"):
        wait_ready(browser.open(f"{url}/{name}/index.html"))
