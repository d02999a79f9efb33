"""Write a model so that the target is either the whole new file or what was there before."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import onnx

from .errors import GraftError
from .load.onnx_file import external_files
from .streaming import write_model


class Draft:
    """A model under way to its place: it lies in a hidden folder beside the target until `publish`."""

    def __init__(self, target: Path, folder: Path) -> None:
        self.target = target
        self.model = folder / target.name
        self._folder = folder
        self._data: list[str] = []

    def keep(self, name: str, proto: onnx.ModelProto) -> Path:
        """Write a model that is needed only until the draft is checked."""
        path = self._folder / name
        write_model(proto, path)
        return path

    def write(self, proto: onnx.ModelProto, data_folder: Path | None) -> None:
        """Write the model, and a copy `TARGET.data` of its external weights.

        So the result does not depend on the source's folder. The references in `proto` are rewritten.
        """
        locations = list(external_files(proto))
        if locations and data_folder is not None:
            copies = {
                loc: f"{self.target.name}.data" + (f".{i}" if i else "") for i, loc in enumerate(locations)
            }
            for location, copy in copies.items():
                shutil.copyfile(data_folder / location, self._folder / copy)
            _relocate(proto, copies)
            self._data = list(copies.values())
        write_model(proto, self.model)

    def publish(self) -> None:
        """Move the files to their place, the model last."""
        for name in (*self._data, self.target.name):
            os.replace(self._folder / name, self.target.parent / name)


@contextlib.contextmanager
def draft(target: Path) -> Iterator[Draft]:
    """A draft of the file `target`. Whatever happens, nothing but a published result stays behind.

    Raises:
        GraftError: The folder is missing or not writable, or the disk is full.
    """
    if not target.parent.is_dir():
        raise GraftError(f"cannot write {target}: there is no folder {target.parent}")
    try:
        # On the target's own file system, so that the last step is a rename.
        with tempfile.TemporaryDirectory(prefix=".fastcam-", dir=target.parent) as folder:
            yield Draft(target, Path(folder))
    except OSError as error:
        raise GraftError(f"cannot write {target}: {error.strerror or error}") from error


def _relocate(proto: onnx.ModelProto, copies: dict[str, str]) -> None:
    for tensor in proto.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = copies[entry.value]
