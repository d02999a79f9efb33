"""Pictures as onnxruntime's quantiser reads them, and the held-out pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from fastcam_runtime.contract import Metadata
from fastcam_runtime.image import Image
from fastcam_runtime.preprocess import Preprocessor
from fastcam_runtime.text import count
from onnxruntime.quantization import CalibrationDataReader

from ..errors import GraftError

FEWEST = 4
HELD_OUT = 4
"""One in so many pictures is held out of the calibration, for the comparison."""


def split(pictures: Sequence[Image]) -> tuple[list[Image], list[Image]]:
    """The pictures to calibrate with, and those to compare on: no picture is in both.

    Raises:
        GraftError: There are fewer than `FEWEST`.
    """
    if len(pictures) < FEWEST:
        raise GraftError(
            f"{count(len(pictures), 'picture')}: at least {FEWEST} are needed, as one in {HELD_OUT} is held "
            "out for the comparison; 50 or more give better ranges"
        )
    seen = [picture for i, picture in enumerate(pictures) if i % HELD_OUT]
    return seen, list(pictures[::HELD_OUT])


class PictureReader(CalibrationDataReader):  # type: ignore[misc]  # onnxruntime has no types
    """Feeds uint8 BGR pictures, prepared as the metadata state, to onnxruntime's calibration.

    `batch` is the first dimension of the input where the network fixes it.
    """

    def __init__(self, pictures: Sequence[Image], metadata: Metadata, batch: int = 1) -> None:
        self._name = metadata.image.name
        self._tensors = self._prepare(pictures, metadata, batch)

    def _prepare(
        self, pictures: Sequence[Image], metadata: Metadata, batch: int
    ) -> Iterator[np.ndarray[Any, Any]]:
        prepare = Preprocessor(metadata.image, metadata.preprocess, metadata.resize, np.float32, batch)
        for picture in pictures:
            tensor, _ = prepare(picture)
            yield np.repeat(tensor[:1], batch, axis=0)  # empty pictures would change the ranges

    def get_next(self) -> dict[str, np.ndarray[Any, Any]] | None:
        """The next input, or None after the last."""
        tensor = next(self._tensors, None)
        return None if tensor is None else {self._name: tensor}
