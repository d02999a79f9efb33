"""Write a model so that the target is either the whole new file or what was there before."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
from fastcam_runtime.contract import METADATA_KEY
from fastcam_runtime.errors import ModelError
from fastcam_runtime.model.file import check_name, summarize_file

from ..errors import GraftError
from ..load.messages import external_tensors
from ..load.onnx_file import external_files
from .interruption import temporary_folder, undisturbed
from .streaming import write_model

SUFFIX = ".onnx"
_SEPARATORS = tuple(filter(None, (os.sep, os.altsep)))


class Draft:
    """A model under way to its place: it lies in a hidden folder beside the target until `publish`."""

    def __init__(self, target: Path, folder: Path) -> None:
        # A folder for each, so that no name of a target can be the original's.
        self._folder, kept = folder / "draft", folder / "kept"
        self._folder.mkdir()
        kept.mkdir()
        self._original = kept / "original.onnx"
        self.target = target
        self.model = self._folder / target.name
        self.spare = self._folder / f"{target.name}.prepared"
        """A place for another form of the model, beside its external weights; see `replace`."""
        self._data: list[str] = []

    def keep(self, proto: onnx.ModelProto) -> Path:
        """Write the original, which is needed only until the draft is checked."""
        write_model(proto, self._original)
        return self._original

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
                self._refuse_foreign(self.target.parent / copy, [data_folder / name for name in locations])
                shutil.copyfile(data_folder / location, self._folder / copy)
            _relocate(proto, copies)
            self._data = list(copies.values())
        write_model(proto, self.model)

    def _refuse_foreign(self, place: Path, sources: list[Path]) -> None:
        """Weights may replace those of an earlier export to the same target, and nothing else."""
        if not place.exists():
            return
        if any(place.samefile(source) for source in sources):
            raise GraftError(f"{place}: holds weights of the source itself; name another output")
        if place.name not in self._earlier_data():
            raise GraftError(f"{place}: is there, and no part of {self.target}; name another output")

    def _earlier_data(self) -> set[str]:
        """The files of weights that an earlier export to the same target left beside it."""
        try:
            names = external_files(onnx.load_model(self.target, load_external_data=False))
        except Exception:  # no file, or no model: protobuf's DecodeError has moved between its releases
            return set()
        return {name for name in names if name.startswith(f"{self.target.name}.data")}

    def replace(self, model: Path) -> None:
        """Put another file in the model's place, one that holds its weights itself."""
        os.replace(model, self.model)
        self._data = []

    def publish(self) -> tuple[Path, ...]:
        """Move the files to their place, the model last; then remove weights that it no longer reads.

        Returns:
            The files of weights beside the model.
        """
        beside = {path.name for path in self.target.parent.iterdir()}
        old = {name for name in beside if name.startswith(f"{self.target.name}.data")} - set(self._data)
        left_behind = old & self._earlier_data() if old else old  # the earlier model may be large
        # Stopped in between, the earlier model would lie beside weights that are not its own.
        with undisturbed():
            for name in (*self._data, self.target.name):
                os.replace(self._folder / name, self.target.parent / name)
            for name in left_behind:
                (self.target.parent / name).unlink(missing_ok=True)
        return tuple(self.target.parent / name for name in self._data)


@contextlib.contextmanager
def draft(target: Path) -> Iterator[Draft]:
    """A draft of the file `target`. Whatever happens, nothing but a published result stays behind.

    Raises:
        GraftError: The folder is not writable, or the disk is full.
    """
    # On the target's own file system, so that the last step is a rename.
    with _naming(target), temporary_folder(".fastcam-", target.parent) as folder:
        yield Draft(target, folder)


def check_target(named: str | Path, labels: Any = None) -> Path:
    """Refuse a place that no model can be written to, and one that holds something else than a model.

    Args:
        named: The file to make, as the user named it: `name/` is a folder even where there is none.
        labels: The labels as the user gave them; a path among other things.

    Returns:
        The place.

    Raises:
        GraftError: There is no such folder, nothing can be written there, or `named` is a folder, a file of
            another kind, or the labels.
    """
    target = Path(named)
    check_name(target)
    with _naming(target):
        if target.is_dir() or str(named).endswith(_SEPARATORS):
            raise GraftError(f"{named or target}: is a folder, not a file; name a file in it")
        if not target.parent.is_dir():
            raise GraftError(f"cannot write {target}: there is no folder {target.parent}")
        if target.exists():
            _refuse_other(target, labels)
        elif target.suffix.lower() not in (SUFFIX, ""):
            raise GraftError(
                f"{target}: a model's name ends in {SUFFIX} or has no ending; name another output"
            )
        # Permissions do not tell everything: a disk may be mounted for reading only.
        with temporary_folder(".fastcam-", target.parent):
            pass
    return target


def _refuse_other(target: Path, labels: Any) -> None:
    """Refuse to replace what is no model."""
    if isinstance(labels, str | os.PathLike) and os.path.exists(labels) and target.samefile(labels):
        raise GraftError(f"{target}: is the labels file itself; name another output")
    if target.suffix.lower() != SUFFIX and not _is_grafted(target):
        raise GraftError(f"{target}: there is a file that is no {SUFFIX}; name another output")


def _is_grafted(path: Path) -> bool:
    """Whether a file is an earlier export, whatever its name."""
    try:
        return METADATA_KEY in summarize_file(path).metadata
    except ModelError:
        return False


def refuse_source(target: Path, source: Path | None) -> None:
    """Refuse to replace the file that the model came from, if it came from one.

    Raises:
        GraftError: `target` is that file.
    """
    if source is not None and target.exists() and target.samefile(source):
        raise GraftError(f"{target} is the source file itself: name another file for the result")


@contextlib.contextmanager
def _naming(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise GraftError(f"cannot write {target}: {error.strerror or error}") from error


def _relocate(proto: onnx.ModelProto, copies: dict[str, str]) -> None:
    for tensor in external_tensors(proto):
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = copies[entry.value]
