"""Random inputs for a measurement."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnxruntime as ort

from ..contract import CHOICE_INPUTS, METADATA_KEY, ImageInput, Metadata
from ..errors import ModelError
from ..image import Array
from ..limits import check_elements, check_picture
from ..model.session import metadata_of
from ..preprocess import IMAGE_TYPES

_FREE_SIZE = 224
"""Height and width for a network whose input size is free."""

_DTYPES: dict[str, npt.DTypeLike] = {
    **IMAGE_TYPES,
    "tensor(int8)": np.int8,
    "tensor(int32)": np.int32,
    "tensor(int64)": np.int64,
    "tensor(bool)": np.bool_,
}


def random_inputs(session: ort.InferenceSession, path: Path) -> dict[str, Array]:
    """A tensor for every input: random numbers from 0 to 1, or to 255 for bytes, with a fixed seed.

    Raises:
        ModelError: An input is too large, or of a type that takes no random values.
    """
    rng = np.random.default_rng(0)
    feed: dict[str, Array] = {}
    text = metadata_of(path, session).get(METADATA_KEY)
    image = None if text is None else Metadata.of_file(path, text).image
    for value in session.get_inputs():
        if value.type not in _DTYPES:
            raise ModelError(f"{path}: no random values for its input {value.name!r} of {value.type}")
        dtype = np.dtype(_DTYPES[value.type])
        known = image if image is not None and image.name == value.name else None
        if known is not None and len(value.shape) != len(known.layout):
            known = None  # the metadata is of another tensor; onnxruntime says what is wrong
        shape = [_size(size, axis, known) for axis, size in enumerate(value.shape)]
        what = f"{path}: its input {value.name!r}"
        if known is None:
            check_elements(what, shape, 0)
        else:
            axes = dict(zip(known.layout, shape, strict=True))
            check_picture(what, axes["N"], axes["H"], axes["W"], axes["C"])
        if value.name in CHOICE_INPUTS:
            feed[value.name] = np.full(shape, -1, dtype)
        elif dtype.kind == "f":
            feed[value.name] = rng.random(shape).astype(dtype)
        else:
            feed[value.name] = rng.integers(0, 256 if dtype == np.uint8 else 2, shape).astype(dtype)
    return feed


def _size(size: int | str | None, axis: int, image: ImageInput | None) -> int:
    """The size of an axis. If free: 1 for the batch, else the size in the metadata, else `_FREE_SIZE`."""
    if isinstance(size, int) and size > 0:
        return size
    if axis == 0:
        return 1
    if image is None:
        return _FREE_SIZE
    sizes = {"C": image.channels, "H": image.height, "W": image.width}
    return sizes[image.layout[axis]]
