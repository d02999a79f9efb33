"""Where the objects of a picture are, and what the values of a mask say about it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Marks = NDArray[np.uint8]
"""H×W of the three values below."""
NOTHING, OBJECT, UNKNOWN = 0, 1, 2
"""`UNKNOWN`: the annotation leaves open whether the pixel is on an object."""

_TRIMAP = np.array([UNKNOWN, OBJECT, NOTHING, UNKNOWN], np.uint8)
"""By value in a trimap as in the Oxford pets: 1 animal, 2 background, 3 border."""
_STRAY = 0.01
"""A trimap may have this share of zeros. Where they are more, 1, 2 and 3 are numbers of objects."""
_VOID = 255
_VOID_COLOUR = (192, 224, 224)
"""The same in the palette of Pascal VOC, blue first."""
_VOC_CLASSES = 20
_MATTING = (0, 128, 255)
_MOST_COLOURS = 256
"""Of a palette."""


def read_marks(mask: NDArray[np.integer[Any]]) -> tuple[Marks, str]:
    """The marks of a mask H×W[×3 or 4] as in OpenCV, and a note on how it was read if that is a guess.

    Raises:
        ValueError: It is not a mask; the message says why.
    """
    if mask.ndim == 3 and mask.shape[2] == 4:
        alpha = mask[..., 3]
        if alpha.min() != alpha.max():
            return _where(alpha > 0), "masks with transparent pixels: all others are objects"
        mask = mask[..., :3]
    if mask.ndim == 3 and (mask == mask[..., :1]).all():
        mask = mask[..., 0]
    return _of_colours(mask) if mask.ndim == 3 else _of_values(mask)


def _of_values(mask: NDArray[np.integer[Any]]) -> tuple[Marks, str]:
    values, counts = np.unique(mask, return_counts=True)
    found = set(values.tolist())
    if found <= {0, 1, 2, 3} and (0 not in found or _has_stray_zeros(dict(zip(values, counts, strict=True)))):
        zeros = "; 0 counts as border too" if 0 in found else ""
        note = "masks of the values 1, 2 and 3 are taken for trimaps: object, background, unknown border"
        return np.asarray(_TRIMAP[mask]), note + zeros
    if found == set(_MATTING):
        note = "masks of the values 0, 128 and 255 are taken for trimaps: 128 is an unknown border"
        return _where(mask == 255, mask == 128), note
    others = found - {0, _VOID}
    if _VOID in found and others and max(others) <= _VOC_CLASSES:
        note = "masks of class numbers: 255 is taken for an unknown border, as in Pascal VOC"
        return _where((mask > 0) & (mask != _VOID), mask == _VOID), note
    if {1, 2, 3} <= found <= {0, 1, 2, 3}:
        return _where(mask > 0), "masks of the values 0 to 3 are taken for numbers of objects: only 0 is none"
    return _where(mask > 0), ""


def _has_stray_zeros(counts: dict[int, int]) -> bool:
    return {1, 2} <= counts.keys() and counts[0] <= _STRAY * sum(counts.values())


def _of_colours(mask: NDArray[np.integer[Any]]) -> tuple[Marks, str]:
    numbers = mask.astype(np.int64) @ np.array([1, 1 << 16, 1 << 32])
    if np.unique(numbers).size > _MOST_COLOURS:
        raise ValueError(f"more than {_MOST_COLOURS} colours: is it a photo?")
    void = (mask == _VOID_COLOUR).all(axis=2)
    note = "masks with the border colour of Pascal VOC: it is unknown" if void.any() else ""
    return _where(mask.any(axis=2) & ~void, void), note


def _where(objects: NDArray[np.bool_], unknown: NDArray[np.bool_] | None = None) -> Marks:
    marks = np.where(objects, OBJECT, NOTHING).astype(np.uint8)
    if unknown is not None:
        marks[unknown] = UNKNOWN
    return marks
