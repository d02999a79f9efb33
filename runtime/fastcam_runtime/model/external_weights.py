"""External weights of a model: only beside its file, never elsewhere on the machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath

from ..errors import ModelError
from ..text import shown


def place_of(model: Path, location: str) -> Path:
    """The file that a model names for its weights.

    A link is followed if it leads to a file in the model's folder, or in the folder of the model's own file
    where that is a link too, as in caches of downloaded models.

    Raises:
        ModelError: The place is outside the model's folder.
    """
    absolute = PurePosixPath(location).is_absolute() or PureWindowsPath(location).is_absolute()
    place = model.parent / location
    try:
        real = place.resolve()
        folders = (model.parent.resolve(), model.resolve().parent)
    except (OSError, RuntimeError, ValueError):  # circular links, a name that is too long or has a zero byte
        raise ModelError(f"{model} keeps weights in {shown(location)}, which is not a file name") from None
    if absolute or not any(real.is_relative_to(folder) for folder in folders):
        raise ModelError(
            f"{model} keeps weights in {shown(location)}, which is outside the model's folder; put the file "
            "beside the model, and store only its name in the model"
        )
    return place


def check_numbers(name: str, entry: Mapping[str, str]) -> None:
    """Refuse a negative offset or length.

    Raises:
        ModelError: Names the weights and the number.
    """
    for key in ("offset", "length"):
        if entry.get(key, "").lstrip().startswith("-"):
            raise ModelError(f"the weights of {shown(name)} have the {key} {shown(entry[key])}, below zero")
