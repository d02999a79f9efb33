"""The two public verbs: `graft` gives a model, `export` writes a file. Both check what they give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx

from .check import check
from .errors import GraftError
from .graft import Grafted, graft_branch
from .load import Source, load
from .options import Options
from .save import save


def graft(model: Any, *, example: Any = None, **options: Any) -> onnx.ModelProto:
    """Graft saliency outputs into a model.

    Args:
        model: A path, bytes, an ONNX model in memory, a torch module, or a name such as
            `torchvision:resnet18`; see `fastcam_export.load`. What is passed in is not changed.
        example: An example input where `model` is a torch module.
        **options: The fields of `Options`.

    Returns:
        The same network with the asked maps as added outputs, checked in onnxruntime.

    Raises:
        FastcamError: With one line that says what is wrong and what would fit.
    """
    wanted = Options(**options)
    source = load(model, example=example, input_shape=wanted.input_shape)
    original: Path | bytes = source.path or source.proto.SerializeToString()
    if source.path is not None:
        onnx.load_external_data_for_model(source.proto, str(source.path.parent))
    grafted = graft_branch(source, wanted)
    check(original, grafted.proto.SerializeToString(), grafted.metadata)
    return grafted.proto


def export(model: Any, target: str | Path, *, example: Any = None, **options: Any) -> Grafted:
    """Graft a model and write it to `target`. An existing file is replaced only by a checked new one.

    Returns:
        What was grafted: its metadata and taps. The protobuf in it is empty; it is in the file now.

    Raises:
        FastcamError: Nothing was written.
    """
    wanted = Options(**options)
    target = Path(target)
    source = load(model, example=example, input_shape=wanted.input_shape)
    _refuse_overwriting(source, target)
    # A model from memory is compared with itself as it was before the graft.
    original: Path | bytes = source.path or source.proto.SerializeToString()
    grafted = graft_branch(source, wanted)
    folder = source.path.parent if source.path is not None else None
    save(grafted.proto, target, folder, lambda draft: check(original, draft, grafted.metadata))
    return grafted


def _refuse_overwriting(source: Source, target: Path) -> None:
    if source.path is not None and target.exists() and target.samefile(source.path):
        raise GraftError(f"{target} is the source file itself: name another file for the result")
