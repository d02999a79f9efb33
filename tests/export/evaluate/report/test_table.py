"""The table for the terminal."""

from __future__ import annotations

import numpy as np
from fastcam_export.evaluate.controls import CONTROLS
from fastcam_export.evaluate.metrics import SHOWN
from fastcam_export.evaluate.report import table
from fastcam_export.evaluate.results import Evaluation, PictureResult

MAPS = ("saliency_map", "cam", "fastcam")


def evaluation(count: int, level: float = 0.5, noise: float = 0.1) -> Evaluation:
    """Pictures with all figures: random ones around the level."""
    random = np.random.default_rng(0)
    pictures = [
        PictureResult(
            f"{k}.jpg", "cat", 0.9,
            {m: {f: level + noise * random.standard_normal() for f in SHOWN} for m in (*MAPS, *CONTROLS)},
            dict.fromkeys(MAPS, 0.5), {},
        )
        for k in range(count)
    ]  # fmt: skip
    return Evaluation("m.onnx", {"pictures": count}, (*MAPS, *CONTROLS), MAPS, pictures)


def test_names_of_files_reach_the_terminal_on_one_line_without_control_characters() -> None:
    found = evaluation(2)
    found.file = "a\x1b[2J\nb.onnx"
    found.notes = ["x\x1b]0;title\x07\nnote: forged.jpg is not a picture that can be read"]
    text = table.text(found)
    assert "\x1b" not in text
    assert "\x07" not in text
    assert sum(line.startswith("note: ") for line in text.splitlines()) == 1
    assert text.splitlines()[0].startswith("a\\x1b[2J b.onnx: 2")
