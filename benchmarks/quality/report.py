"""Writes docs/quality.md and its plots from the committed results.

    python -m benchmarks.quality.report [--accept FOLDER]

`--accept` first makes the results in FOLDER the reference.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from fastcam_export.evaluate.bootstrap import estimate
from fastcam_export.evaluate.report import svg

from ..paths import ROOT
from ..tables.markdown import paragraph
from . import reference
from .retraining.retrain_tables import retrain_section
from .tables.candidate_tables import candidate_section, first_scale_section, weight_section
from .tables.evaluation_tables import evaluation_section
from .tables.study_tables import study_section
from .tables.summary import summary_section

DOCS = ROOT / "docs"
PAGE = DOCS / "quality.md"
PLOTTED = (
    "saliency_map", "map × Grad-CAM", "Grad-CAM", "Grad-CAM++", "map × Grad-CAM++", "LayerCAM", "LaFAM",
    "SmoothGrad²", "edges × centre", "Sobel", "centre", "blobs", "random",
)  # fmt: skip

_HEAD = (
    "This page is written by `python -m benchmarks.quality.report` from the results in "
    "[benchmarks/reference/quality](../benchmarks/reference/quality). The plans of both experiments are in "
    "[study_plan.py](../benchmarks/quality/study_plan.py) and "
    "[protocol.py](../benchmarks/quality/retraining/protocol.py); they were written before the first run, "
    "and say what was added later. `fastcam evaluate MODEL PICTURES` measures the same on your file and your "
    "pictures.",
    "Limits: `saliency_map` partly follows edges, and the map of an untrained network can be as good as an "
    "edge filter, so do not use it to check whether a network has learnt. The photos of the ImageNet "
    "networks are probably among their training images. A map shows what the network needs, not whether the "
    "network is right.",
)


def page(folder: Path = reference.FIGURES) -> str:
    """The text of docs/quality.md."""
    scores, cells = reference.study(folder), reference.retraining(folder)
    parts = [
        "# How good are the maps?",
        *map(paragraph, _HEAD),
        summary_section(scores, folder, cells),
        study_section(scores),
        candidate_section(scores),
        weight_section(reference.result(reference.WEIGHTS, folder)),
        first_scale_section(reference.result(reference.FIRST_SCALE, folder)),
        evaluation_section(folder),
        retrain_section(cells, reference.retraining(folder, reference.RETRAIN_EARLIER)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def plots(folder: Path = reference.FIGURES) -> dict[str, str]:
    """The plots beside the page, as SVG by their file's name."""
    found = {}
    for network, maps in reference.study(folder).items():
        values = {name: estimate(maps[name]) for name in PLOTTED if name in maps}
        found[plot_name(network)] = svg.bars(f"{network}: insertion − deletion", values)
    return found


def plot_name(network: str) -> str:
    """`quality-mobilenetv2.svg`"""
    return f"quality-{network.lower().replace(' ', '-')}.svg"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.quality.report", description=__doc__.partition("\n")[0])
    parser.add_argument("--accept", type=Path, metavar="FOLDER", help="accept the results in FOLDER")
    options = parser.parse_args(arguments)
    if options.accept is not None:
        reference.accept(options.accept)
    PAGE.write_text(page(), encoding="utf-8")
    for name, text in plots().items():
        (DOCS / name).write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
