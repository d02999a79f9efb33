"""PaddleOCR's and RapidOCR's text recognisers: the key `character` lists what can be read."""

from __future__ import annotations

from fastcam_runtime.contract import Preprocess

from .clue import Clue, ModelFile

CHARACTER_KEY = "character"


def read(file: ModelFile) -> Clue | None:
    """BGR, −1…1, the line of text at the left. The characters are no classes of the picture: no labels."""
    if CHARACTER_KEY not in file.metadata:
        return None
    preprocess = Preprocess("BGR", (127.5,) * 3, (127.5,) * 3, placement="corner")
    return Clue("'character' in the file: a recogniser of PaddleOCR", preprocess, "letterbox")
