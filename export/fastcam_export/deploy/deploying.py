"""Turn a checked grafted file into one for another program, and compare the two."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
from fastcam_runtime.contract import ARGMAX, CHOICE_INPUTS, Metadata
from fastcam_runtime.errors import ort_errors_as
from fastcam_runtime.model.session import quiet_options, start_session
from fastcam_runtime.model.watching import Runner
from fastcam_runtime.preprocess import Preprocessor

from ..errors import GraftError
from ..load.onnx_file import external_files
from ..options import Options
from .frame_input import take_frames
from .frame_size import parse_frame
from .retarget import retarget

TOLERANCE = 1e-4
"""Largest difference in a map that is accepted from other operators."""


def deploy(grafted: Path, target: Path, metadata: Metadata, options: Options) -> Metadata:
    """Write the model to `target` in the form that the options request.

    Returns:
        The metadata of the new file.

    Raises:
        GraftError: The model has no such form, or its maps differ.
    """
    proto = onnx.load(grafted, load_external_data=False)
    if external_files(proto):
        raise GraftError("--target and --frame-input need a model that holds its weights itself")
    if options.target is not None:
        proto = retarget(proto, options.target)
        _compare(grafted, proto, metadata)
    if options.frame_input is not None:
        model = ir.from_proto(proto)
        metadata = take_frames(model, metadata, parse_frame(options.frame_input))
        proto = ir.to_proto(model)
        _run(proto.SerializeToString(), {metadata.frame.name: _frame(metadata)})  # type: ignore[union-attr]
    onnx.save(proto, target)
    return metadata


def _frame(metadata: Metadata) -> np.ndarray:
    assert metadata.frame is not None
    shape = (metadata.frame.height, metadata.frame.width, metadata.frame.channels)
    return np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)


def _compare(grafted: Path, proto: onnx.ModelProto, metadata: Metadata) -> None:
    """Refuse a form whose maps differ from those of the grafted file on a smooth random picture."""
    kinds = {value.name: value.type.tensor_type.elem_type for value in proto.graph.input}
    dtype = onnx.helper.tensor_dtype_to_np_dtype(kinds[metadata.image.name])
    blocks = np.random.default_rng(0).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    tensor, _ = Preprocessor(metadata.image, metadata.preprocess, dtype=dtype)(blocks)
    feeds = {metadata.image.name: tensor}
    before, after = _run(grafted, feeds), _run(proto.SerializeToString(), feeds)
    for name in metadata.outputs:
        apart = float(np.abs(before[name].astype(np.float64) - after[name]).max())
        if not apart <= TOLERANCE * (255 if before[name].dtype == np.uint8 else 1):
            raise GraftError(f"this form of {name} differs by {apart:.2g} from the exact one")


def _run(model: Path | bytes, feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    with ort_errors_as(GraftError, "the deployed form does not run"):
        session = start_session(str(model) if isinstance(model, Path) else model, quiet_options())
        required = [value.name for value in session.get_inputs() if value.name in CHOICE_INPUTS]
        feeds = {**feeds, **{name: np.array([ARGMAX], np.int64) for name in required}}
        names = [value.name for value in session.get_outputs()]
        arrays = Runner("the deployed form", model)(session, None, feeds, trial=True)
        return dict(zip(names, arrays, strict=True))
