"""A detector's page in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest
from fastcam_runtime import Explainer
from fastcam_runtime.draw.boxes import class_colour
from fastcam_runtime.web.server import SiteServer
from fastcam_runtime.web.site import write_site
from support.chromium import Chromium, find_chromium
from support.node import ort_web
from support.sites import wait_ready

pytestmark = pytest.mark.browser

PIXEL = """((x, y) => {
  const context = document.getElementById("picture").getContext("2d");
  return [...context.getImageData(x, y, 1, 1).data].slice(0, 3);
})"""


def test_boxes_are_found_listed_and_drawn(
    tmp_path: Path, serve: Callable[[Path], SiteServer], browse: Callable[..., Chromium]
) -> None:
    if find_chromium() is None:
        pytest.skip("no Chromium to open the page in")
    pytest.importorskip("onnx_ir")
    pytest.importorskip("torch")
    import onnx
    from fastcam_export import graft
    from support.tiny_detector import export_tiny

    plain = export_tiny("yolov8", str(tmp_path / "plain.onnx"))
    onnx.save(graft(plain, preprocess="unit", labels=("red", "green", "blue")), tmp_path / "tiny.onnx")
    write_site(tmp_path / "tiny.onnx", tmp_path / "site", ort_web(), webgpu=False)
    frame = np.zeros((240, 320, 3), np.uint8)
    frame[80:180, 120:220] = (255, 0, 0)
    cv2.imwrite(str(tmp_path / "blue.png"), frame)

    tab = browse().open(f"http://127.0.0.1:{serve(tmp_path / 'site').port}/")
    wait_ready(tab)
    document = tab.call("DOM.getDocument")["root"]["nodeId"]
    chooser = tab.call("DOM.querySelector", nodeId=document, selector="#file")["nodeId"]
    tab.call("DOM.setFileInputFiles", files=[str(tmp_path / "blue.png")], nodeId=chooser)
    tab.wait("document.getElementById('picture').answer", 180)

    wanted = Explainer(tmp_path / "tiny.onnx", compiled=False)(frame).detections
    found = tab.evaluate("document.getElementById('picture').answer.detections")
    assert [one["label"] for one in found] == [one.label for one in wanted]
    np.testing.assert_allclose([one["box"] for one in found], [one.box for one in wanted], atol=0.1)
    said = tab.evaluate("document.getElementById('label').innerText")
    assert said == f"{len(wanted)} found"
    assert tab.evaluate("document.querySelector('#top li').innerText").startswith("blue")
    # The lower edge of the best box, which no label covers, has the colour of its class.
    left, _, right, bottom = wanted[0].box
    assert tab.evaluate(f"{PIXEL}({round((left + right) / 2)}, {round(bottom) - 1})") == list(
        class_colour(wanted[0].index)[::-1]
    )
