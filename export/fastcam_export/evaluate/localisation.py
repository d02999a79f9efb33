"""Whether maps locate annotated objects: pointing game, energy inside, pixel AUC."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from fastcam_runtime.errors import FastcamError
from fastcam_runtime.image import Geometry
from fastcam_runtime.limits import read_whole
from fastcam_runtime.sources.quiet import decoding
from numpy.typing import NDArray

MASK_ENDINGS = ("_mask.png", ".png")
"""The mask of photo.jpg is photo_mask.png or photo.png; pixels that are not black are objects."""

_MOST_COCO = 1 << 30
"""Bytes of a file of annotations: the largest of COCO has 470 million."""

Marked = NDArray[np.bool_]


class Objects:
    """The annotated objects of a folder of pictures.

    Args:
        path: COCO's JSON with `images` and `annotations`, or a folder of masks named like the pictures.

    Raises:
        FastcamError: The file cannot be read, or is not of this form.
    """

    def __init__(self, path: Path) -> None:
        self._folder = path if path.is_dir() else None
        self._boxes: Mapping[str, list[list[float]]] = {} if path.is_dir() else _read_coco(path)

    def of(self, picture: Path, shape: tuple[int, int]) -> Marked | None:
        """H×W, true on any object; None if the picture has no annotated object."""
        if self._folder is not None:
            return self._mask(picture, shape)
        boxes = self._boxes.get(picture.name, [])
        marked = np.zeros(shape, np.uint8)
        for x, y, width, height in boxes:
            corner = max(0, round(x)), max(0, round(y))
            marked[corner[1] : round(y + height), corner[0] : round(x + width)] = 1
        return marked.astype(bool) if marked.any() else None

    def _mask(self, picture: Path, shape: tuple[int, int]) -> Marked | None:
        assert self._folder is not None
        for ending in MASK_ENDINGS:
            path = self._folder / f"{picture.stem}{ending}"
            if path.is_file() and path != picture:
                with decoding():
                    mask = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)
                if mask is None or mask.shape != shape:
                    raise FastcamError(
                        f"{path}: not a mask of {shape[1]}×{shape[0]}, the size of its picture"
                    )
                return np.asarray(mask > 0) if mask.any() else None
        return None


def on_input(marked: Marked, geometry: Geometry) -> Marked:
    """The mask in the coordinates of the network's input; false outside the picture."""
    seen = geometry.seen.of(marked).astype(np.uint8)
    placed = geometry.placed
    laid = np.zeros(geometry.input, np.uint8)
    placed.of(laid)[:] = cv2.resize(seen, (placed.width, placed.height), interpolation=cv2.INTER_NEAREST)
    return laid.astype(bool)


def pointing(saliency: NDArray[np.float32], marked: Marked) -> float:
    """1 if the map's maximum lies on an object, else 0; with several maxima, the share that does."""
    return float(marked[saliency == saliency.max()].mean())


def energy_inside(saliency: NDArray[np.float32], marked: Marked) -> float:
    """The share of the map's sum that lies on objects; 0 for a map of zeros."""
    total = float(saliency.sum())
    return float(saliency[marked].sum()) / total if total > 0 else 0.0


def pixel_auc(ranks: NDArray[np.integer], marked: Marked) -> float:
    """The probability that an object's pixel is more salient than another; 0.5 if one kind is missing."""
    inside, outside = int(marked.sum()), int((~marked).sum())
    if not inside or not outside:
        return 0.5
    ascending = ranks.size - 1 - ranks[marked].astype(np.int64)
    return float((ascending.sum() - inside * (inside - 1) / 2) / (inside * outside))


def _read_coco(path: Path) -> dict[str, list[list[float]]]:
    try:
        content: Any = json.loads(read_whole(path, _MOST_COCO))
        names = {image["id"]: Path(image["file_name"]).name for image in content["images"]}
        boxes: dict[str, list[list[float]]] = {}
        for one in content["annotations"]:
            x, y, width, height = map(float, one["bbox"])
            if not np.isfinite([x, y, width, height]).all():
                raise ValueError("a box is not finite")
            boxes.setdefault(names[one["image_id"]], []).append([x, y, width, height])
    except OSError as error:
        raise FastcamError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FastcamError(
            f"{path}: not a COCO file with images and annotations ({type(error).__name__}: {error})"
        ) from error
    return boxes
