"""The user's annotations: COCO's boxes, or masks named like the pictures."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from fastcam_runtime.errors import FastcamError
from fastcam_runtime.limits import read_whole
from fastcam_runtime.sources.quiet import decoding

from .marks import NOTHING, OBJECT, UNKNOWN, Marks, read_marks

MASK_ENDINGS = ("_mask.png", ".png")
"""The mask of photo.jpg is photo_mask.png or photo.png; .PNG will do."""

_MOST_COCO = 1 << 30
"""Bytes of a file of annotations: the largest of COCO has 470 million."""


@dataclass(frozen=True)
class _Image:
    """The boxes of one picture: x, y, width, height, and whether each is a crowd."""

    boxes: Sequence[tuple[tuple[float, float, float, float], bool]]
    size: tuple[float, float] | None
    """The height and width that the boxes refer to, if the file states them."""


class Objects:
    """The annotated objects of a folder of pictures.

    Args:
        path: COCO's JSON with `images` and `annotations`, or a folder of masks named like the pictures. A
            mask's pixels that are not black are objects, but see `read_marks`.

    Raises:
        FastcamError: The file cannot be read, or is not of this form.
    """

    def __init__(self, path: Path) -> None:
        self.notes: list[str] = []
        """What the user should know of the annotations, for the report."""
        self._path = path
        self._folder = path if path.is_dir() else None
        self._images: Mapping[str, _Image] = {} if path.is_dir() else _read_coco(path, self.notes)

    def without_masks(self, pictures: Iterable[Path]) -> list[Path]:
        """The pictures that are not themselves the mask of another one."""
        listed = list(pictures)
        if self._folder is None:
            return listed
        stems = {path.stem for path in listed if path.suffix.lower() != ".png"}
        return [
            path
            for path in listed
            if path.suffix.lower() != ".png"
            or stems.isdisjoint((path.stem, path.stem.removesuffix("_mask")))
            or not path.parent.samefile(self._folder)
        ]

    def check(self, pictures: Sequence[Path]) -> None:
        """Refuse annotations of other pictures.

        Raises:
            FastcamError: None of the pictures has an annotation.
        """
        if any(self._annotated(picture) for picture in pictures):
            return
        named = [name for name, image in self._images.items() if image.boxes]
        if self._folder is not None:
            wanted = " or ".join(f"{pictures[0].stem}{ending}" for ending in MASK_ENDINGS)
            raise FastcamError(f"{self._path}: has no mask of any picture, such as {wanted}")
        known = f"it has boxes of {', '.join(named[:3])}" if named else "it has no boxes"
        more = "" if len(named) < 4 else f" and {len(named) - 3} more"
        raise FastcamError(
            f"{self._path}: no boxes of {pictures[0].name} or any other picture, by file name; {known}{more}"
        )

    def _annotated(self, picture: Path) -> bool:
        if self._folder is not None:
            return self._mask_of(picture) is not None
        image = self._images.get(picture.name)
        return image is not None and bool(image.boxes)

    def of(self, picture: Path, shape: tuple[int, int]) -> Marks | None:
        """H×W; None if the picture has no annotated object.

        Raises:
            FastcamError: The annotation is of a picture of another shape.
        """
        marks = self._boxes(picture, shape) if self._folder is None else self._mask(picture, shape)
        return marks if marks is not None and (marks == OBJECT).any() else None

    def _boxes(self, picture: Path, shape: tuple[int, int]) -> Marks | None:
        image = self._images.get(picture.name)
        if image is None:
            return None
        tall, wide = (1.0, 1.0) if image.size is None else _scale(picture, image.size, shape)
        marks = np.full(shape, NOTHING, np.uint8)
        # Crowds first: COCO does not say where in them the objects are, and a box in a crowd is certain.
        for (x, y, width, height), crowd in sorted(image.boxes, key=lambda box: not box[1]):
            rows, columns = ((y * tall, (y + height) * tall), (x * wide, (x + width) * wide))
            top, bottom = (round(min(max(edge, 0), shape[0])) for edge in rows)
            left, right = (round(min(max(edge, 0), shape[1])) for edge in columns)
            marks[top:bottom, left:right] = UNKNOWN if crowd else OBJECT
        return marks

    def _mask_of(self, picture: Path) -> Path | None:
        assert self._folder is not None
        for ending in MASK_ENDINGS:
            for name in (f"{picture.stem}{ending}", f"{picture.stem}{ending[:-4]}.PNG"):
                path = self._folder / name
                if path.is_file() and path != picture:
                    return path
        return None

    def _mask(self, picture: Path, shape: tuple[int, int]) -> Marks | None:
        path = self._mask_of(picture)
        if path is None:
            return None
        with decoding():
            mask = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
        if mask is None or mask.shape[:2] != shape:
            raise FastcamError(f"{path}: not a mask of {shape[1]}×{shape[0]}, the size of its picture")
        try:
            marks, note = read_marks(np.asarray(mask))
        except ValueError as error:
            raise FastcamError(f"{path}: not a mask: {error}") from error
        if note and note not in self.notes:
            self.notes.append(note)
        return marks


def _scale(picture: Path, size: tuple[float, float], shape: tuple[int, int]) -> tuple[float, float]:
    """From the picture that was annotated to a smaller or larger copy of it."""
    tall, wide = shape[0] / size[0], shape[1] / size[1]
    if abs(tall / wide - 1) * min(shape) > 2:  # rounding of the copy's sides
        raise FastcamError(
            f"{picture}: has {shape[1]}×{shape[0]} pixels, but its boxes are of a picture of "
            f"{size[1]:g}×{size[0]:g}"
        )
    return tall, wide


def _read_coco(path: Path, notes: list[str]) -> dict[str, _Image]:
    try:
        content: Any = json.loads(read_whole(path, _MOST_COCO))
        boxes: dict[Any, list[tuple[tuple[float, float, float, float], bool]]] = {
            image["id"]: [] for image in content["images"]
        }
        lost = 0
        for one in content["annotations"]:
            if one["image_id"] in boxes:
                boxes[one["image_id"]].append((_box(one), bool(one.get("iscrowd"))))
            else:
                lost += 1
        names = [re.split(r"[/\\]", image["file_name"])[-1] for image in content["images"]]
        counts = Counter(names)
        found = {
            name: _Image(boxes[image["id"]], _size(image))
            for name, image in zip(names, content["images"], strict=True)
            if counts[name] == 1
        }
    except OSError as error:
        raise FastcamError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise FastcamError(
            f"{path}: not a COCO file with images and annotations ({type(error).__name__}: {error})"
        ) from error
    if lost:
        notes.append(f"{path}: {lost} annotations are of images that the file does not list; left out")
    for name in [name for name, count in counts.items() if count > 1][:1]:
        notes.append(f"{path}: several images are called {name}, so it is not clear whose its boxes are")
    return found


def _box(annotation: Mapping[str, Any]) -> tuple[float, float, float, float]:
    """The box; that around the polygons if there is none."""
    polygons = annotation.get("segmentation")
    if "bbox" not in annotation and isinstance(polygons, list) and polygons:
        points = np.concatenate([np.asarray(polygon, float).reshape(-1, 2) for polygon in polygons])
        (x, y), (right, bottom) = points.min(axis=0).tolist(), points.max(axis=0).tolist()
        width, height = right - x, bottom - y
    else:
        x, y, width, height = map(float, annotation["bbox"])
    if not np.isfinite([x, y, width, height]).all():
        raise ValueError("a box is not finite")
    if width < 0 or height < 0:
        raise ValueError(f"a box of negative size: {width:g}×{height:g}")
    return x, y, width, height


def _size(image: Mapping[str, Any]) -> tuple[float, float] | None:
    height, width = image.get("height"), image.get("width")
    if not height or not width:
        return None
    if not (1 <= float(height) < np.inf and 1 <= float(width) < np.inf):
        raise ValueError(f"an image of {width}×{height}")
    return float(height), float(width)
