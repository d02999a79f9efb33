"""Read an `.onnx` file, or say in one line why it cannot be read."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path

import onnx
from fastcam_runtime.errors import ModelError
from fastcam_runtime.model.external_weights import check_numbers, place_of
from fastcam_runtime.model.file import read_model, summarize

from ..errors import LoadError
from .bounds import bits_of
from .loaded_model import opset_of
from .messages import external_tensors


def read(path: Path) -> tuple[onnx.ModelProto, str]:
    """The model and the SHA-256 of its file. Weights in external files stay there.

    Raises:
        LoadError: No such file, unreadable, not ONNX, truncated, or its external data is missing.
    """
    try:
        data = read_model(path)
    except ModelError as error:
        raise LoadError(str(error)) from error
    digest = hashlib.sha256(data).hexdigest()
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(data)
    except Exception as error:  # the place of protobuf's DecodeError depends on its release
        raise LoadError(f"{path} is not an ONNX file, or it is truncated") from error
    if not proto.graph.node or not opset_of(proto):
        raise LoadError(f"{path} is not an ONNX file: it holds no graph")
    try:
        summarize(data)  # refuses millions of empty parts, each of which costs time below
    except ModelError as error:
        raise LoadError(f"{path}: {error}") from error
    _check_external_data(proto, path)
    return proto, digest


def external_files(proto: onnx.ModelProto) -> dict[str, int]:
    """The external data files that hold the weights, each with the least size it must have.

    Raises:
        LoadError: A weight does not name its file, or its place in it is below zero.
    """
    files: dict[str, int] = {}
    for tensor in external_tensors(proto):
        entry = {e.key: e.value for e in tensor.external_data}
        try:
            location = entry["location"]
            offset, length = int(entry.get("offset", 0)), int(entry.get("length", 0))
            if not isinstance(location, str):
                raise ValueError("not UTF-8")
        except (KeyError, ValueError):
            listed = ", ".join(f"{key} {value!r}" for key, value in entry.items()) or "nothing"
            raise LoadError(f"the weights of '{tensor.name}' cannot be found with {listed}") from None
        try:
            check_numbers(tensor.name, entry)
        except ModelError as error:
            raise LoadError(str(error)) from None
        needed = (math.prod(tensor.dims) * bits_of(tensor) + 7) // 8
        files[location] = max(files.get(location, 0), offset + max(length, needed))
    return files


def _check_external_data(proto: onnx.ModelProto, path: Path) -> None:
    try:
        files = external_files(proto)
    except LoadError as error:
        raise LoadError(f"{path}: {error}") from None
    for location, size in files.items():
        try:
            file = place_of(path, location)
        except ModelError as error:
            raise LoadError(str(error)) from None
        if not file.is_file():
            raise LoadError(f"{path} keeps weights in {location}, which is not beside it")
        if file.stat().st_size < size:
            raise LoadError(f"{file} is truncated: {file.stat().st_size} bytes, the model needs {size}")
