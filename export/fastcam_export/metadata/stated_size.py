"""The size of the picture, if it is free in the network but stated in the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastcam_runtime.limits import MAX_SIDE

from . import hugging_face, paddle_ocr
from .labels import literal

IMGSZ_KEY = "imgsz"


@dataclass(frozen=True)
class StatedSize:
    """Height and width, and where they are stated."""

    height: int
    width: int
    where: str


def stated_size(metadata: Mapping[str, str], path: Path | None) -> StatedSize | None:
    """The size in Ultralytics' `imgsz`, JSON files beside the model or PaddleOCR's `character`, if any."""
    found = [(f"'{IMGSZ_KEY}' in the file", literal(metadata.get(IMGSZ_KEY, "")))]
    if path is not None:
        found += hugging_face.sizes(path)
    if paddle_ocr.is_recogniser(metadata):
        found.append((paddle_ocr.WHERE, paddle_ocr.LINE_SIZE))
    for where, said in found:
        sides = _sides(said)
        if sides is not None:
            return StatedSize(*sides, where)
    return None


def _sides(said: Any) -> tuple[int, int] | None:
    """Height and width from one number, a pair, or a mapping with both or with one for both."""
    if isinstance(said, Mapping):
        sides = [said.get("height", said.get("shortest_edge")), said.get("width", said.get("shortest_edge"))]
    else:
        sides = list(said) if isinstance(said, list | tuple) else [said, said]
    if len(sides) == 2 and all(type(side) is int and 1 <= side < MAX_SIDE for side in sides):
        return sides[0], sides[1]
    return None
