"""ONNX's own keys for pictures: `Image.BitmapPixelFormat` and `Image.NominalPixelRange`."""

from __future__ import annotations

from .clue import Clue, ModelFile, scaled

FORMAT_KEY, RANGE_KEY = "Image.BitmapPixelFormat", "Image.NominalPixelRange"
_ORDERS = {"gray8": "GRAY", "rgb8": "RGB", "bgr8": "BGR", "rgba8": "RGBA", "bgra8": "BGRA"}
_RANGES = {
    "nominalrange_0_255": (0.0, 1.0),
    "normalized_0_1": (0.0, 255.0),
    "normalized_1_1": (127.5, 127.5),
    "nominalrange_16_235": (-16 * 255 / 219, 255 / 219),
}
"""Mean and std that map 0…255 to the range."""


def read(file: ModelFile) -> Clue | None:
    """Order and range; if one is missing, the standard's default: RGB, or 0…255."""
    given = [key for key in (FORMAT_KEY, RANGE_KEY) if key in file.metadata]
    if not given:
        return None
    order = _ORDERS.get(file.metadata.get(FORMAT_KEY, "rgb8").lower())
    limits = _RANGES.get(file.metadata.get(RANGE_KEY, "NominalRange_0_255").lower())
    if order is None or limits is None:
        return None
    return Clue(f"{' and '.join(repr(key) for key in given)} in the file", scaled(order, *limits))
