"""The wire format of Protocol Buffers, as far as an ONNX file needs it; a device has no onnx package.

https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import ModelError
from ..limits import MAX_FIELDS

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


@dataclass(frozen=True)
class Field:
    """One field of a message."""

    number: int
    wire: int
    value: memoryview
    """The content of a length-delimited field; the bytes of any other."""
    whole: memoryview
    """The field with its key."""

    @property
    def text(self) -> str:
        """The content of a text field."""
        if self.wire != BYTES:
            raise ModelError("not an ONNX model, or damaged: a name is not text")
        return str(self.value, "utf-8", "surrogateescape")


def fields(message: memoryview) -> Iterator[Field]:
    """The fields of a message, in order.

    Raises:
        ModelError: The bytes are not a message, end too early, or hold too many fields.
    """
    at = found = 0
    while at < len(message):
        found += 1
        if found > MAX_FIELDS:
            raise ModelError(f"a part of it has more than {MAX_FIELDS} fields")
        start = at
        key, at = _read_varint(message, at)
        number, wire = key >> 3, key & 7
        value = at
        if wire == VARINT:
            _, at = _read_varint(message, at)
        elif wire == BYTES:
            size, value = _read_varint(message, at)
            at = value + size
        elif wire in (FIXED64, FIXED32):
            at += 8 if wire == FIXED64 else 4
        else:
            raise ModelError("not an ONNX model, or damaged")
        if at > len(message) or number == 0:
            raise ModelError("not an ONNX model, or cut short")
        yield Field(number, wire, message[value:at], message[start:at])


def text_of(message: memoryview, number: int) -> str:
    """The text in field `number` of a message; empty if it has none."""
    for field in fields(message):
        if field.number == number:
            return field.text
    return ""


def integers(message: memoryview, number: int) -> list[int]:
    """The integers in field `number` of a message, one per field or packed into one; empty if it has none.

    Raises:
        ModelError: The field holds something else.
    """
    found: list[int] = []
    for field in fields(message):
        if field.number != number:
            continue
        if field.wire not in (VARINT, BYTES):
            raise ModelError("not an ONNX model, or damaged: a number is not an integer")
        at = 0
        while at < len(field.value):
            value, at = _read_varint(field.value, at)
            found.append(value - (1 << 64) if value >> 63 else value)
    return found


def text_field(number: int, content: str | bytes) -> bytes:
    """A whole field with a text, or with a message."""
    data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
    return field_header(number, len(data)) + data


def integer_field(number: int, value: int) -> bytes:
    """A whole field with an integer of 0 or more."""
    return _varint(number << 3 | VARINT) + _varint(value)


def field_header(number: int, size: int) -> bytes:
    """The key and length before a length-delimited field of `size` bytes."""
    return _varint(number << 3 | BYTES) + _varint(size)


def _read_varint(data: memoryview, at: int) -> tuple[int, int]:
    """A base-128 number and the position after it."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ModelError("not an ONNX model, or cut short")


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
