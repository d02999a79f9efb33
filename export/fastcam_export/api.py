"""The public functions: `graft` returns a model, `export` writes a file. Both check their result."""

from __future__ import annotations

import gc
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx
from fastcam_runtime.contract import Metadata
from fastcam_runtime.errors import ModelError, closest, guarded
from fastcam_runtime.prepared.preparing import prepare

from .check import check
from .deploy.deploying import deploy
from .errors import GraftError
from .grafting import graft_branch
from .load import load
from .options import Options
from .save.draft import Draft, check_target, draft, refuse_source
from .save.interruption import temporary_folder

if TYPE_CHECKING:
    from typing_extensions import Unpack  # typing has it from Python 3.11 on

    from .option_types import GraftOptions


@dataclass(frozen=True)
class Exported:
    """What `export` wrote."""

    path: Path
    metadata: Metadata
    notes: tuple[str, ...]
    """For the user: changes to the network, such as an upgraded opset, and options without effect."""
    weights: tuple[Path, ...] = ()
    """Files of weights that the model needs beside it."""

    def __str__(self) -> str:
        """The files as a message names them: `model.onnx (needs model.onnx.data beside it)`."""
        names = ", ".join(path.name for path in self.weights)
        return f"{self.path} (needs {names} beside it)" if names else str(self.path)


def graft(model: Any, *, example: Any = None, **options: Unpack[GraftOptions]) -> onnx.ModelProto:
    """Graft saliency outputs into a model.

    Args:
        model: A path, bytes, an ONNX model in memory, a torch module, or a name such as
            `torchvision:resnet18`; see `fastcam_export.load`. What is passed in is not changed.
        example: An example input where `model` is a torch module.
        **options: The fields of `Options`.

    Returns:
        The same network with the requested maps as added outputs, checked in onnxruntime.

    Raises:
        FastcamError: One line says what is wrong and what would be valid.
    """
    with temporary_folder("fastcam-graft-") as folder:
        exported = export(model, folder / "model.onnx", example=example, **options)
        return onnx.load(exported.path)


def export(
    model: Any, target: str | Path, /, *, example: Any = None, **options: Unpack[GraftOptions]
) -> Exported:
    """Graft a model and write it to `target`.

    An existing file is replaced only if it is an `.onnx`, and only by a checked new one.

    Args:
        model: As in `graft`.
        target: The file to make, an `.onnx` or without an ending.
        example: As in `graft`.
        **options: The fields of `Options`.

    Raises:
        FastcamError: Nothing was written.
    """
    place = check_target(target, options.get("labels"))
    known = [field.name for field in fields(Options)]
    for name in options:
        if name not in known:
            raise GraftError(f"no option named '{name}'{closest(name, known)}")
    given: dict[str, Any] = {**options}
    wanted = Options(**given)
    named = str(model) if isinstance(model, str | Path) else "this model"
    with guarded(named), draft(place) as files:
        original, result = _write(files, model, example, wanted)
        # Free the model, which holds reference cycles: the check needs the memory for its sessions.
        gc.collect()
        check(original, files.model, result.metadata)
        if wanted.target is not None or wanted.frame_input is not None:
            result = replace(result, metadata=deploy(files.model, files.spare, result.metadata, wanted))
            files.replace(files.spare)
        if wanted.prepared:
            try:
                prepared = prepare(files.model, files.spare, result.metadata)
            except ModelError as error:
                raise GraftError(str(error)) from error
            result = replace(result, metadata=prepared)
            files.replace(files.spare)
        return replace(result, weights=files.publish())


def _write(files: Draft, model: Any, example: Any, wanted: Options) -> tuple[Path, Exported]:
    """Write the draft, and the original beside it if it has no file; keep neither in memory."""
    source = load(model, example=example, input_shape=wanted.input_shape)
    refuse_source(files.target, source.path)
    original = source.original
    if isinstance(original, onnx.ModelProto):
        original = files.keep(original)
    grafted = graft_branch(source, wanted)
    files.write(grafted.proto, source.folder)
    return original, Exported(files.target, grafted.metadata, grafted.notes)
