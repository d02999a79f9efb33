"""The page in a real browser."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fastcam_runtime import Explainer
from fastcam_runtime import overlay as draw_overlay
from fastcam_runtime.web import server as server_module
from fastcam_runtime.web.server import SiteServer
from support.chromium import Chromium
from support.phone_page import ANSWER, DROP_BLUE, PATIENCE, again, click, explained, shown, text
from support.sites import FAKE_CAMERA, GRANTED, wait_ready

pytestmark = pytest.mark.browser


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
