"""Move external weights into the model."""

from __future__ import annotations

from pathlib import Path

from ..errors import ModelError
from ..model.file import ENTRY_KEY, ENTRY_VALUE, TENSOR_EXTERNAL
from ..model.protobuf import Field, field_header, fields, text_of

# Field numbers of onnx.proto.
_GRAPH_INITIALIZER, _TENSOR_RAW, _TENSOR_LOCATION = 5, 9, 14


def with_values(initializer: Field, folder: Path) -> list[bytes | memoryview]:
    """An initializer of a graph, with its values if these are in a file of `folder`.

    Raises:
        ModelError: The place of its values is damaged, or outside the folder.
        OSError: The file cannot be read.
    """
    parts = list(fields(initializer.value))
    place = {
        text_of(part.value, ENTRY_KEY): text_of(part.value, ENTRY_VALUE)
        for part in parts
        if part.number == TENSOR_EXTERNAL
    }
    if not place.get("location"):
        return [initializer.whole]
    values = _read(folder, place)
    tensor: list[bytes | memoryview] = [
        part.whole for part in parts if part.number not in (TENSOR_EXTERNAL, _TENSOR_LOCATION)
    ]
    tensor += [field_header(_TENSOR_RAW, len(values)), values]
    return [field_header(_GRAPH_INITIALIZER, sum(map(len, tensor))), *tensor]


def _read(folder: Path, place: dict[str, str]) -> bytes:
    path = (folder / place["location"]).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise ModelError(f"weights are outside the model's folder: {place['location']}")
    try:
        offset, length = int(place.get("offset") or 0), int(place.get("length") or -1)
    except ValueError:
        raise ModelError(f"the place of weights in {place['location']} is damaged") from None
    with path.open("rb") as file:
        file.seek(max(offset, 0))
        values = file.read(length)
    if 0 <= length != len(values):
        raise ModelError(f"{place['location']} is too short for the weights in it")
    return values
