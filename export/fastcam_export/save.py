"""Write a model so that the target is either the whole new file or what was there before."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import onnx

from .errors import GraftError
from .load.onnx_file import external_files


def save(
    proto: onnx.ModelProto, target: Path, data_folder: Path | None, check: Callable[[Path], None]
) -> None:
    """Write `proto` beside `target` under a temporary name, check that file, and only then rename it.

    Weights in external files are copied to `TARGET.data`, so that the result does not depend on the
    source's folder.

    Args:
        proto: The model. Its references to external data are rewritten, and it is emptied as soon as
            it is on disk: the check needs the memory.
        target: The file to make or replace.
        data_folder: Where the external data of the model lies.
        check: Called with the finished temporary file; if it raises, nothing is left behind.

    Raises:
        GraftError: The folder is missing or not writable, or the disk is full.
    """
    if not target.parent.is_dir():
        raise GraftError(f"cannot write {target}: there is no folder {target.parent}")
    try:
        with _scratch_folder(target.parent) as scratch:
            files = _copy_external(proto, data_folder, scratch, target.name)
            draft = scratch / target.name
            draft.write_bytes(proto.SerializeToString())
            proto.Clear()
            check(draft)
            for name in (*files, target.name):
                os.replace(scratch / name, target.parent / name)
    except OSError as error:
        raise GraftError(f"cannot write {target}: {error.strerror or error}") from error
    except ValueError as error:  # protobuf's limit of 2 GB for one message
        raise GraftError(f"cannot write {target}: {error}") from error


@contextlib.contextmanager
def _scratch_folder(parent: Path) -> Iterator[Path]:
    """A hidden folder on the target's own file system, gone again whatever happens."""
    folder = Path(tempfile.mkdtemp(prefix=".fastcam-", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _copy_external(proto: onnx.ModelProto, source: Path | None, scratch: Path, name: str) -> list[str]:
    locations = list(external_files(proto))
    if not locations or source is None:
        return []
    names = {loc: f"{name}.data" + (f".{i}" if i else "") for i, loc in enumerate(locations)}
    for location, copy in names.items():
        shutil.copyfile(source / location, scratch / copy)
    for tensor in proto.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = names[entry.value]
    return list(names.values())
