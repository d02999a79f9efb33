"""Quantise a network with onnxruntime.quantization: QDQ, static, one scale per output channel of a weight.

Activations are uint8, weights int8 with 7 of their 8 bits. x86 processors without VNNI add products in 16
bits, which 8-bit weights overflow: 3 of 14 photos changed their class on EfficientNet-Lite0, and none with 7.
uint8 weights would not overflow, but onnxruntime does not fuse them: that took nine times as long.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx
import onnxruntime as ort
from fastcam_runtime.contract import Metadata
from fastcam_runtime.errors import first_line, ort_errors_as
from fastcam_runtime.image import Image
from fastcam_runtime.model.session import quiet_options, start_session
from onnxruntime.quantization import QuantFormat, QuantType, quantize_static

from ..errors import GraftError
from ..load import load
from ..load.loaded_model import LoadedModel
from ..save.draft import check_target, draft, refuse_source
from ..save.interruption import temporary_folder
from ..save.streaming import write_model
from .calibration import PictureReader

QUANTIZERS = ("QuantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "ConvInteger")


@dataclass(frozen=True)
class Quantized:
    """What `quantize` wrote."""

    path: Path
    notes: tuple[str, ...]
    """Notes for the user, e.g. an upgraded opset."""


def quantize(
    model: str | Path,
    target: str | Path,
    pictures: Sequence[Image],
    metadata: Metadata,
    *,
    symmetric: bool = False,
    full_range: bool = False,
) -> Quantized:
    """Write the int8 form of a float32 network.

    Args:
        model: The network; see `fastcam_export.load`.
        target: The `.onnx` file to make.
        pictures: uint8 BGR pictures, to find the ranges of the activations.
        metadata: That of a graft of the same network: its image input and preprocessing.
        symmetric: int8 activations with zero points of 0, as TensorRT requires.
        full_range: Weights use all 8 bits: closer to float32, except on x86 without VNNI.

    Raises:
        GraftError: The network is quantised already, or onnxruntime cannot quantise it.
    """
    place = check_target(target)
    source = load(model, input_shape=None)
    refuse_source(place, source.path)
    _refuse_unfit(source)
    with temporary_folder("fastcam-quantize-") as folder, draft(place) as files:
        folded = _fold(source, folder)
        reader = PictureReader(pictures, metadata, _batch(folded, metadata.image.name))
        try:
            with _quiet():
                quantize_static(
                    folded,
                    folder / "int8.onnx",
                    reader,
                    quant_format=QuantFormat.QDQ,
                    per_channel=True,
                    reduce_range=not full_range,
                    activation_type=QuantType.QInt8 if symmetric else QuantType.QUInt8,
                    weight_type=QuantType.QInt8,
                    extra_options={"ActivationSymmetric": symmetric},
                )
        except Exception as error:  # onnxruntime.quantization raises whatever its helpers raise
            raise GraftError(f"{source.name}: onnxruntime cannot quantise it: {first_line(error)}") from error
        proto = onnx.load(folder / "int8.onnx")
        _keep_metadata(source.proto, proto)
        files.write(proto, None)
        files.publish()
    return Quantized(place, source.notes)


def _refuse_unfit(source: LoadedModel) -> None:
    graph = source.proto.graph
    found = next((node for node in graph.node if node.op_type in QUANTIZERS), None)
    if found is not None:
        raise GraftError(f"{source.name} is quantised already: it has the {found.op_type} '{found.name}'")
    weights = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in weights]
    if len(inputs) != 1:
        names = ", ".join(value.name for value in inputs)
        raise GraftError(f"{source.name}: only networks with one input can be quantised; it has {names}")
    if inputs[0].type.tensor_type.elem_type != onnx.TensorProto.FLOAT:
        raise GraftError(f"{source.name}: its input is not float32; quantise the float32 network")


def _fold(source: LoadedModel, folder: Path) -> Path:
    """The network with constants folded and batch norms merged, ready to be quantised."""
    plain, folded = folder / "plain.onnx", folder / "folded.onnx"
    if source.path is not None:
        onnx.load_external_data_for_model(source.proto, str(source.path.parent))
    write_model(source.proto, plain)
    options = quiet_options()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(folded)
    with ort_errors_as(GraftError, f"{source.name}: onnxruntime cannot run it"):
        start_session(str(plain), options)
    return folded


def _batch(path: Path, image: str) -> int:
    """The batch size of the network; 1 if it is free."""
    for value in onnx.load(path, load_external_data=False).graph.input:
        if value.name == image:
            return max(1, int(value.type.tensor_type.shape.dim[0].dim_value))
    return 1


def _keep_metadata(source: onnx.ModelProto, result: onnx.ModelProto) -> None:
    """Keep labels and preprocessing; drop the domains that onnxruntime declares but does not use."""
    del result.metadata_props[:]
    result.metadata_props.extend(source.metadata_props)
    used = {node.domain for node in result.graph.node}
    kept = [entry for entry in result.opset_import if entry.domain in used or not entry.domain]
    imports = onnx.ModelProto(opset_import=kept).opset_import
    del result.opset_import[:]
    result.opset_import.extend(imports)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence the advice that onnxruntime.quantization logs and prints: this module follows it already."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
            yield
    finally:
        logging.disable(before)
