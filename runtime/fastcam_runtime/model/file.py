"""Read a model's file, and summarise it, without the onnx package."""

from __future__ import annotations

import hashlib
import mmap
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ..contract import DOMAIN
from ..errors import ModelError, closest
from ..limits import MAX_MODEL
from .external_weights import check_numbers, place_of
from .nodes import NODE_OPERATOR
from .protobuf import BYTES, Field, fields, text_of

# Field numbers of onnx.proto.
MODEL_GRAPH, MODEL_METADATA, _MODEL_FUNCTION = 7, 14, 25
_FUNCTION_NAME, _FUNCTION_DOMAIN = 1, 10
GRAPH_NODE, GRAPH_INITIALIZER, GRAPH_INPUT, GRAPH_OUTPUT = 1, 5, 11, 12
TENSOR_EXTERNAL = 13
TENSOR_DIMS, TENSOR_NAME = 1, 8
VALUE_NAME, _VALUE_TYPE, _TYPE_TENSOR, _TENSOR_ELEMENT = 1, 2, 1, 1
ENTRY_KEY, ENTRY_VALUE = 1, 2

_FIRST_BYTE = b"\x08"
"""Every model has an `ir_version`, and every writer puts it first."""

_QUANTIZED = re.compile("Quantize|QLinear|Integer$")
"""Operators of quantised networks: QuantizeLinear, QLinearConv, MatMulInteger…"""

_OTHERS = frozenset({2, 3, 4, 5, 6, 7, 8, 9, 12, 13})
"""Element types of onnx.proto that are whole numbers, texts or flags."""

_T = TypeVar("_T")


@dataclass(frozen=True)
class Summary:
    """A summary of an ONNX file, read without a session."""

    outputs: tuple[str, ...]
    metadata: dict[str, str]
    functions: tuple[str, ...]
    """The names of the exporter's local functions."""
    weights: tuple[str, ...] = ()
    """The external files of its weights, as it names them; empty if it holds them itself."""
    quantized: bool = False
    """Whether it computes with int8 or quantises tensors on the way."""
    no_numbers: frozenset[str] = frozenset()
    """The outputs whose elements are no floating-point numbers."""

    def missing_weights(self, path: Path) -> list[str]:
        """The external files that are missing beside the file at `path`."""
        return [name for name in self.weights if not (path.parent / name).exists()]


def is_ort(path: Path) -> bool:
    """Whether a file is in onnxruntime's own format, which only onnxruntime can read."""
    return path.suffix.lower() == ".ort"


def summarize(model: bytes | memoryview) -> Summary:
    """Summarise an ONNX file.

    Raises:
        ModelError: These are not the bytes of an ONNX model.
    """
    graph: list[Field] = []
    metadata: dict[str, str] = {}
    functions: list[str] = []
    for field in fields(memoryview(model)):
        if field.number == MODEL_GRAPH and field.wire == BYTES:
            graph += fields(field.value)
        elif field.number == MODEL_METADATA:
            metadata[text_of(field.value, ENTRY_KEY)] = text_of(field.value, ENTRY_VALUE)
        elif field.number == _MODEL_FUNCTION and text_of(field.value, _FUNCTION_DOMAIN) == DOMAIN:
            functions.append(text_of(field.value, _FUNCTION_NAME))
    if not graph:
        raise ModelError("not an ONNX model: it holds no graph")
    values = [field.value for field in graph if field.number == GRAPH_OUTPUT]
    outputs = tuple(text_of(value, VALUE_NAME) for value in values)
    no_numbers = frozenset(text_of(value, VALUE_NAME) for value in values if _element_type(value) in _OTHERS)
    stored = (_stored_in(field.value) for field in graph if field.number == GRAPH_INITIALIZER)
    weights = tuple(dict.fromkeys(filter(None, stored)))
    operators = {text_of(field.value, NODE_OPERATOR) for field in graph if field.number == GRAPH_NODE}
    quantized = any(_QUANTIZED.search(operator) for operator in operators)
    return Summary(outputs, metadata, tuple(functions), weights, quantized, no_numbers)


def _element_type(value: memoryview) -> int | None:
    """The number of an output's element type; None where the file does not say."""
    message = value
    for number in (_VALUE_TYPE, _TYPE_TENSOR):
        message = next((field.value for field in fields(message) if field.number == number), memoryview(b""))
    numbers = (field.value for field in fields(message) if field.number == _TENSOR_ELEMENT)
    return next((element[0] for element in numbers if len(element) == 1), None)


def _stored_in(tensor: memoryview) -> str:
    """The file beside the model that holds a tensor; empty if the model holds it itself."""
    entries = [field.value for field in fields(tensor) if field.number == TENSOR_EXTERNAL]
    if not entries:
        return ""
    said = {text_of(entry, ENTRY_KEY): text_of(entry, ENTRY_VALUE) for entry in entries}
    check_numbers(text_of(tensor, TENSOR_NAME), said)
    return said.get("location", "")


def summarize_file(path: Path) -> Summary:
    """`summarize` for a file; errors name the file.

    Raises:
        ModelError: It is not a model, or it keeps weights outside its folder.
    """
    file = from_file(path, summarize)
    for name in file.weights:
        place_of(path, name)
    return file


def read_model(path: Path) -> bytes:
    """The bytes of a model's file.

    Raises:
        ModelError: See `map_model`.
    """
    return map_model(path)[:]


def map_model(path: Path) -> mmap.mmap:
    """A model's file, memory-mapped: most of it is weights, which are rarely read.

    Raises:
        ModelError: There is no such file (the message has the closest names), it cannot be read, is empty
            or too large.
    """
    check_name(path)
    try:
        if path.is_fifo():  # opening it waits for somebody to write; it cannot be mapped either
            raise ModelError(f"{path} is a pipe, not a model's file")
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size > MAX_MODEL:
                raise ModelError(f"{path}: more than {MAX_MODEL} bytes, which no model's file can have")
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        beside = [file.name for ending in ("onnx", "ort") for file in path.parent.glob(f"*.{ending}")]
        near = closest(path.name, beside)
        raise ModelError(f"{path}: no such file{near}") from None
    except IsADirectoryError:
        raise ModelError(f"{path} is a folder, not a model's file") from None
    except ValueError:
        raise ModelError(f"{path}: the file is empty") from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror or error}") from error


def sha256(path: Path) -> str:
    """The SHA-256 of a file's content."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def check_name(path: Path) -> None:
    """Refuse a name that onnx and onnxruntime cannot open: their own message does not mention it."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise ModelError(f"{path}: the name is not UTF-8; rename it, or set PYTHONUTF8=1") from None


def from_file(path: Path, read: Callable[[memoryview], _T]) -> _T:
    """The result of `read` on a model's file; errors name the file."""
    model = map_model(path)
    try:
        return read(memoryview(model))
    except ModelError as error:
        # A photo is not a damaged model, even if some of its bytes parse.
        what = error if model[:1] == _FIRST_BYTE else "not an ONNX model"
        raise ModelError(f"{path}: {what}") from error
