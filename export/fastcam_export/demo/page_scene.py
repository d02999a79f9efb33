"""A generated scene for a layout detector: a page with a title, text, a figure and a table."""

from __future__ import annotations

import cv2
import numpy as np
from fastcam_runtime.image import Image
from fastcam_runtime.sources.test_clip import PHOTOS

WIDTH, HEIGHT = 760, 1000
_INK = (20, 20, 20)
_FONT = cv2.FONT_HERSHEY_COMPLEX
_TEXT = "maps show where a network looks if it finds an object in a picture, and which cells vote for it"
_WORDS = _TEXT.split()


def draw_page() -> Image:
    """The page, BGR; always the same one."""
    page: Image = np.full((HEIGHT, WIDTH, 3), 255, np.uint8)
    random = np.random.default_rng(1)
    _write(page, "Where the network looks", (120, 70), 1.2, 2)
    _paragraph(page, random, top=120, lines=8)
    photo = cv2.imread(str(PHOTOS / "chelsea.jpg"))
    assert photo is not None
    page[300:570, 180:580] = cv2.resize(photo, (400, 270), interpolation=cv2.INTER_AREA)
    _write(page, "Figure 1: a cat, and nothing else in the picture", (190, 595), 0.45)
    _paragraph(page, random, top=640, lines=6)
    _write(page, "Table 1: rows and strides", (280, 785), 0.45)
    _table(page, random, left=140, top=800)
    return page


def _write(page: Image, text: str, place: tuple[int, int], scale: float, thickness: int = 1) -> None:
    cv2.putText(page, text, place, _FONT, scale, _INK, thickness, cv2.LINE_AA)


def _paragraph(page: Image, random: np.random.Generator, top: int, lines: int) -> None:
    for line in range(lines):
        text = str(random.choice(_WORDS))
        while cv2.getTextSize(text, _FONT, 0.5, 1)[0][0] < 570:
            text += f" {random.choice(_WORDS)}"
        _write(page, text, (60, top + 20 * line), 0.5)


def _table(page: Image, random: np.random.Generator, left: int, top: int) -> None:
    for k in range(5):
        cv2.line(page, (left, top + 32 * k), (left + 480, top + 32 * k), _INK)
        cv2.line(page, (left + 120 * k, top), (left + 120 * k, top + 128), _INK)
    for row in range(4):
        for column, title in enumerate(("stride", "cells", "rows", "score")):
            text = str(random.integers(10, 9999)) if row else title
            _write(page, text, (left + 20 + 120 * column, top + 22 + 32 * row), 0.5)
