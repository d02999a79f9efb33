"""A loaded model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import onnx


@dataclass(frozen=True)
class LoadedModel:
    """A model as it was loaded.

    The protobuf holds the weights once. Everything else works on views of it, so that a large model is not
    copied.
    """

    proto: onnx.ModelProto
    sha256: str
    path: Path | None
    """The file it came from, None for a model in memory."""
    notes: tuple[str, ...] = ()
    """Notes for the user: what loading changed."""
    untouched: onnx.ModelProto | None = None
    """The original of a model in memory that loading changed; None if nothing was changed."""

    @property
    def original(self) -> Path | onnx.ModelProto:
        """The model as the user gave it, which the grafted one is compared with."""
        return self.path or self.untouched or self.proto

    @property
    def name(self) -> str:
        """The name of the model in messages."""
        return str(self.path or "this model")

    @property
    def folder(self) -> Path | None:
        """The folder of its external weights; None for a model in memory."""
        return None if self.path is None else self.path.parent

    @property
    def metadata(self) -> dict[str, str]:
        """The model's own metadata."""
        return {entry.key: entry.value for entry in self.proto.metadata_props}

    @property
    def opset(self) -> int:
        return opset_of(self.proto)


def opset_of(proto: onnx.ModelProto) -> int:
    """The version of the default operator domain; 0 where the model names none."""
    return max((o.version for o in proto.opset_import if o.domain in ("", "ai.onnx")), default=0)
