"""PaddleOCR's and RapidOCR's key `character`: what a recogniser of text can read, or the names of classes."""

from __future__ import annotations

from collections.abc import Mapping

from fastcam_runtime.contract import Preprocess

from .clue import Clue, ModelFile

CHARACTER_KEY = "character"
WHERE = f"'{CHARACTER_KEY}' in the file: a recogniser of PaddleOCR"
LINE_SIZE = (48, 320)
"""Height and width of the lines of text that its recognisers are made for."""
_SINGLE = 0.9
"""The share of single characters in the list of a recogniser."""


def read(file: ModelFile) -> Clue | None:
    """Recogniser: BGR, −1…1, the line at the left; its characters are not classes. Others: labels."""
    if is_recogniser(file.metadata):
        preprocess = Preprocess("BGR", (127.5,) * 3, (127.5,) * 3, placement="corner")
        return Clue(WHERE, preprocess, "letterbox")
    lines = _lines(file.metadata)
    return Clue(f"'{CHARACTER_KEY}' in the file", labels=lines) if lines else None


def is_recogniser(metadata: Mapping[str, str]) -> bool:
    """Whether the key lists characters: classifiers and detectors of the same authors list names there."""
    lines = _lines(metadata)
    return sum(len(line) <= 1 for line in lines) > _SINGLE * max(len(lines), 1)


def _lines(metadata: Mapping[str, str]) -> tuple[str, ...]:
    text = metadata.get(CHARACTER_KEY, "").rstrip("\n")
    return tuple(text.split("\n")) if text else ()
