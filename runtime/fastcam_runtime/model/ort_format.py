"""Summarise an ORT file through a session; only onnxruntime can read this format."""

from __future__ import annotations

import struct
from pathlib import Path

import onnxruntime as ort

from .. import native
from .file import Summary
from .session import metadata_of

_FLOATS = ("tensor(float", "tensor(double", "tensor(bfloat16")


def summarize_ort(path: Path, session: ort.InferenceSession) -> Summary:
    """Summarise the session of an ORT file, with the compiled kernels that the file needs.

    Converting a grafted file expands its functions, unless the converter was given the kernels' library.
    """
    content = path.read_bytes()
    return Summary(
        outputs=tuple(value.name for value in session.get_outputs()),
        no_numbers=frozenset(
            value.name for value in session.get_outputs() if not value.type.startswith(_FLOATS)
        ),
        metadata=metadata_of(path, session),
        functions=tuple(sorted(name for name in native.operators() if _stored(name) in content)),
    )


def _stored(text: str) -> bytes:
    """A text in FlatBuffers' encoding: its length, the text and a zero byte."""
    return struct.pack("<I", len(text)) + text.encode() + b"\0"
