"""Write a model atomically: the target is either the complete new file or the previous one."""

from __future__ import annotations

import contextlib
import itertools
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
from .leftovers import PREFIX, announce, claimed, remove_leftovers, sync
from .streaming import write_model

SUFFIX = ".onnx"
_SEPARATORS = tuple(filter(None, (os.sep, os.altsep)))


class Draft:
    """A model in a hidden folder beside the target, until `publish` moves it there."""

    def __init__(self, target: Path, folder: Path) -> None:
        # Separate folders, so that the target cannot have the name of the original.
        self._folder, kept = folder / "draft", folder / "kept"
        self._folder.mkdir()
        kept.mkdir()
        self._original = kept / "original.onnx"
        self.target = target
        self.model = self._folder / target.name
        self.spare = self._folder / f"{target.name}.prepared"
        """The path for a prepared version of the model, beside its external weights; see `replace`."""
        self._data: list[str] = []

    def keep(self, proto: onnx.ModelProto) -> Path:
        """Write the original, which is needed only until the draft is checked."""
        write_model(proto, self._original)
        return self._original

    def write(self, proto: onnx.ModelProto, data_folder: Path | None) -> None:
        """Write the model, and a copy `TARGET.data` of its external weights.

        The result does not depend on the source's folder. The references in `proto` are rewritten.
        """
        locations = list(external_files(proto))
        if locations and data_folder is not None:
            copies = dict(zip(locations, self._new_names(), strict=False))
            for location, copy in copies.items():
                self._refuse_foreign(self.target.parent / copy, [data_folder / name for name in locations])
                shutil.copyfile(data_folder / location, self._folder / copy)
            _relocate(proto, copies)
            self._data = list(copies.values())
        write_model(proto, self.model)

    def _new_names(self) -> Iterator[str]:
        """Names for weights that the earlier model does not use: until it is replaced, it keeps its own."""
        earlier = self._earlier_data()
        for number in itertools.count():
            name = f"{self.target.name}.data" + (f".{number}" if number else "")
            if name not in earlier:
                yield name

    def _refuse_foreign(self, place: Path, sources: list[Path]) -> None:
        """Refuse to replace a file that is not the weights of an earlier export to the same target."""
        if not place.exists():
            return
        if any(place.samefile(source) for source in sources):
            raise GraftError(f"{place}: holds weights of the source model; name another output")
        raise GraftError(f"{place}: exists and does not belong to {self.target}; name another output")

    def _earlier_data(self) -> set[str]:
        """The files of weights that an earlier export to the same target left beside it."""
        return {name for name in _weights_of(self.target) if name.startswith(f"{self.target.name}.data")}

    def replace(self, model: Path) -> None:
        """Replace the model by another file, which holds its weights itself."""
        os.replace(model, self.model)
        self._data = []

    def publish(self) -> tuple[Path, ...]:
        """Move the files to their place, the model last; then remove weights that it no longer reads.

        The weights have names that no earlier model uses. So whenever the process is killed, the model that
        is there has its own weights beside it; `remove_leftovers` removes those without a model.

        Returns:
            The files of weights beside the model.
        """
        beside = {path.name for path in self.target.parent.iterdir()}
        old = {name for name in beside if name.startswith(f"{self.target.name}.data")} - set(self._data)
        left_behind = old & self._earlier_data() if old else old  # the earlier model may be large
        for name in (*self._data, self.target.name):
            sync(self._folder / name)
        announce(self._folder.parent, self.target.name, [*self._data, *left_behind])
        with undisturbed():
            for name in (*self._data, self.target.name):
                os.replace(self._folder / name, self.target.parent / name)
            sync(self.target.parent)
            for name in left_behind:
                (self.target.parent / name).unlink(missing_ok=True)
        return tuple(self.target.parent / name for name in self._data)


@contextlib.contextmanager
def draft(target: Path) -> Iterator[Draft]:
    """A draft of the file `target`. Without `publish`, nothing remains of it.

    Raises:
        GraftError: The folder is not writable, or the disk is full.
    """
    # On the target's own file system, so that the last step is a rename.
    with _naming(target), temporary_folder(PREFIX, target.parent) as folder, claimed(folder):
        remove_leftovers(target.parent, _weights_of)
        yield Draft(target, folder)


def check_target(named: str | Path, labels: Any = None) -> Path:
    """Refuse a target that cannot be written, or that is a file other than a model.

    Args:
        named: The file to make, as the user named it: `name/` is a folder even where there is none.
        labels: The labels as the user gave them, perhaps as a path.

    Returns:
        The path of the file to make.

    Raises:
        GraftError: There is no such folder, nothing can be written there, or `named` is a folder, a file of
            another kind, or the labels.
    """
    target = Path(named)
    check_name(target)
    with _naming(target):
        if target.is_symlink():
            target = _behind(target)
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
        # Permissions are not enough: a disk may be mounted read-only.
        with temporary_folder(PREFIX, target.parent):
            pass
    return target


def _behind(link: Path) -> Path:
    """The file that a link leads to, or would lead to: it is replaced, and the link stays."""
    try:
        return link.resolve()
    except (OSError, RuntimeError):
        raise GraftError(f"{link}: is a link that leads back to itself; name another output") from None


def _weights_of(model: Path) -> set[str]:
    """The files of weights that a model refers to; none if there is no model."""
    try:
        return set(external_files(onnx.load_model(model, load_external_data=False)))
    except Exception:  # no file, or no model; where protobuf defines DecodeError depends on its release
        return set()


def _refuse_other(target: Path, labels: Any) -> None:
    """Refuse to replace a file that is not a model."""
    if isinstance(labels, str | os.PathLike) and os.path.exists(labels) and target.samefile(labels):
        raise GraftError(f"{target}: is the labels file itself; name another output")
    if target.suffix.lower() != SUFFIX and not _is_grafted(target):
        raise GraftError(f"{target}: exists and is not an {SUFFIX} file; name another output")


def _is_grafted(path: Path) -> bool:
    """Whether a file is an earlier export, with any name."""
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
