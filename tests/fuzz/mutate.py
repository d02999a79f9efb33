"""Mutations of the messages of a model, of a JSON tree, and of bytes, chosen at random."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import onnx

NUMBERS = (
    0, 1, -1, 2, 3, 7, 16, 127, 255, 256, 1000, 4096, 65_535, 100_000, 1 << 20, (1 << 31) - 1, 1 << 31,
    1 << 40, (1 << 62) - 1, -(1 << 31), -(1 << 62),
)  # fmt: skip
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-30, 1e30, float("inf"), float("-inf"), float("nan"))
TEXTS = (
    "", "input", "logits", "x", "saliency_map", "fastcam", "\x1b[31mred\x1b[0m", "a\nb", "\u202ename",
    "../../up", "a" * 5000, "Conv", "Relu", "Loop", "If", "Softmax", "Reshape", "LRN", "Gemm", "ai.onnx",
    "com.microsoft", "%s%n", "\x00",
)  # fmt: skip


def mutate_bytes(data: bytes, random: Random) -> bytes:
    """Flip, cut, insert or repeat some bytes."""
    work = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 4, 16))):
        at = random.randrange(len(work)) if work else 0
        kind = random.randrange(5)
        if kind == 0 and work:
            work[at] ^= 1 << random.randrange(8)
        elif kind == 1 and work:
            work[at] = random.choice((0, 1, 0x7F, 0x80, 0xFF))
        elif kind == 2:
            del work[at : at + random.choice((1, 2, 8, 100, len(work)))]
        elif kind == 3:
            work[at:at] = random.randbytes(random.choice((1, 2, 8)))
        else:
            end = at + random.choice((1, 4, 64))
            work[at:at] = work[at:end]
    return bytes(work)


def mutate_model(data: bytes, random: Random) -> bytes:
    """Change a few fields of a model's messages, or now and then its bytes."""
    if random.random() < 0.15:
        return mutate_bytes(data, random)
    model = onnx.ModelProto()
    model.ParseFromString(data)
    for _ in range(random.choice((1, 1, 1, 2, 3, 5))):
        _mutate_message(_pick(model, random), random)
    return model.SerializeToString()


def _pick(message: Any, random: Random) -> Any:
    """A random message inside `message`."""
    while True:
        inner = []
        for field, value in message.ListFields():
            if field.message_type is not None:
                inner.append(random.choice(value) if hasattr(value, "extend") and len(value) else value)
        inner = [part for part in inner if not hasattr(part, "extend")]
        if not inner or random.random() < 0.12:
            return message
        message = random.choice(inner)


def _mutate_message(message: Any, random: Random) -> None:
    fields = [field for field, _ in message.ListFields()]
    if random.random() < 0.15:
        fields = list(message.DESCRIPTOR.fields)
    if not fields:
        return
    field = random.choice(fields)
    value = getattr(message, field.name)
    if hasattr(value, "extend"):
        _mutate_list(value, field, random)
    elif field.message_type is not None or random.random() < 0.1:
        message.ClearField(field.name)
    else:
        _assign(message, field, random)


def _mutate_list(values: Any, field: Any, random: Random) -> None:
    kind = random.randrange(5)
    if not len(values):
        if field.message_type is None:
            values.append(_value(field, random))
        else:
            values.add()
        return
    at = random.randrange(len(values))
    if kind == 0:
        del values[at]
    elif kind == 1:
        values.extend([values[at]] * random.choice((1, 2, 20)))
    elif kind == 2:
        other = random.randrange(len(values))
        if field.message_type is None:
            values[at], values[other] = values[other], values[at]
        else:
            kept = type(values[at])()
            kept.CopyFrom(values[at])
            values[at].CopyFrom(values[other])
            values[other].CopyFrom(kept)
    elif kind == 3 and random.random() < 0.2:
        del values[:]
    elif field.message_type is None:
        values[at] = _value(field, random)
    else:
        _mutate_message(values[at], random)


def _assign(message: Any, field: Any, random: Random) -> None:
    try:
        setattr(message, field.name, _value(field, random))
    except ValueError:  # out of the field's range, or not one of an enum's values
        message.ClearField(field.name)


def _value(field: Any, random: Random) -> Any:
    if field.type == field.TYPE_STRING:
        return random.choice(TEXTS)
    if field.type == field.TYPE_BYTES:
        return random.randbytes(random.choice((0, 1, 4, 64)))
    if field.type in (field.TYPE_FLOAT, field.TYPE_DOUBLE):
        return random.choice(FLOATS)
    if field.type == field.TYPE_ENUM:
        return random.randrange(0, 26)
    number = random.choice(NUMBERS)
    if field.type in (field.TYPE_INT32, field.TYPE_UINT32):
        number %= 1 << 31
    return abs(number) if field.type == field.TYPE_UINT64 else number


def mutate_json(text: str, random: Random) -> str:
    """Change a few values of a JSON tree, or now and then its characters."""
    if random.random() < 0.1:
        return mutate_bytes(text.encode(), random).decode(errors="replace")
    tree = json.loads(text)
    for _ in range(random.choice((1, 1, 2, 3))):
        _mutate_tree(tree, random)
    return json.dumps(tree)


def _mutate_tree(tree: Any, random: Random) -> None:
    while True:
        keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
        if not keys:
            return
        key = random.choice(keys)
        if isinstance(tree[key], dict | list) and tree[key] and random.random() < 0.7:
            tree = tree[key]
            continue
        break
    kind = random.randrange(4)
    if kind == 0:
        del tree[key]
    elif kind == 1 and isinstance(tree, list):
        tree.extend([tree[key]] * random.choice((1, 5, 2000)))
    else:
        tree[key] = random.choice((None, True, {}, [], [[]], *NUMBERS, *FLOATS, *TEXTS, 10**400, ["a"] * 300))
