"""Small models in the form of the contract, whose maps follow from the picture's colours.

The scores are the mean red, green and blue of the picture, times `GAIN`; the maps are:
`saliency_map` the mean of the three, `saliency_cam` the chosen colour, the scales 2×2 and 4×4 averages of the
map, LOVI the picture itself. All grafted nodes carry the contract's prefix.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from fastcam_runtime import contract
from onnx import TensorProto, helper, numpy_helper

GAIN = 20.0
LABELS = ("red", "green", "blue")

_TYPES = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "uint8": TensorProto.UINT8}


def make_graft(
    size: tuple[int, int] = (32, 48),
    *,
    batch: int | str = 1,
    layout: str = "NCHW",
    dtype: str = "float32",
    outputs: tuple[str, ...] = contract.OUTPUTS,
    probabilities: bool = False,
    preprocess: contract.Preprocess = contract.PREPROCESS["unit"],
    resize: str = "stretch",
    labels: tuple[str, ...] = LABELS,
    head: str = "classes",
    work: int = 0,
    graft: bool = True,
) -> onnx.ModelProto:
    """A grafted model; `work` convolutions make it slower, without `graft` it has no maps and no metadata.

    The `head` gives a score to each of three `classes`, to `one` (red less blue) or to all `places`.
    """
    height, width = size
    dims = [batch, 3, height, width] if layout == "NCHW" else [batch, height, width, 3]
    scale = numpy_helper.from_array(np.float32(GAIN), "gain")
    nodes = [
        helper.make_node("Cast", ["image"], ["cast"], "to_float", to=TensorProto.FLOAT),
        helper.make_node("Identity", ["cast"], ["x"], "as_is")
        if layout == "NCHW"
        else helper.make_node("Transpose", ["cast"], ["x"], "to_nchw", perm=[0, 3, 1, 2]),
        helper.make_node("GlobalAveragePool", ["x"], ["pooled"], "pool"),
        helper.make_node("Flatten", ["pooled"], ["flat"], "flatten"),
    ]
    initializers = [scale]
    value = "flat"
    if work:
        nodes += _busy_nodes(work, initializers)
        nodes.append(helper.make_node("Add", ["flat", "nothing"], ["busy"], "keep_work"))
        value = "busy"
    nodes.append(helper.make_node("Mul", [value, "gain"], ["logits" if not probabilities else "raw"], "head"))
    scores: list[int | str] = [batch, 3]
    if head == "one":
        nodes[-1].output[0] = "three"
        weights = np.array([[1.0], [0.0], [-1.0]], np.float32)
        initializers.append(numpy_helper.from_array(weights, "red_less_blue"))
        nodes.append(helper.make_node("MatMul", ["three", "red_less_blue"], ["logits"], "one_score"))
        scores = [batch, 1]
    elif head == "places":
        nodes[-1] = helper.make_node("Mul", ["x", "gain"], ["logits"], "head")
        scores = [batch, 3, height, width]
    if probabilities:
        nodes.append(helper.make_node("Softmax", ["raw"], ["logits"], "softmax", axis=1))
    image = helper.make_tensor_value_info("image", _TYPES[dtype], dims)
    inputs = [image]
    results = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, scores)]
    if graft:
        _graft(nodes, initializers, inputs, results, outputs, (batch, height, width))
    model = helper.make_model(
        helper.make_graph(nodes, "tiny", inputs, results, initializers),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=9,
    )
    if graft:
        metadata = contract.Metadata(
            image=contract.ImageInput("image", layout, 3, height, width),
            scores="logits",
            scores_are="probabilities" if probabilities else "logits",
            taps=(contract.TapInfo("x", (None, 3, height, width), 1.0),),
            outputs=contract.output_names(outputs, 2),
            preprocess=preprocess,
            resize=resize,
            labels=labels,
        )
        helper.set_model_props(model, {contract.METADATA_KEY: metadata.to_json(), "author": "somebody"})
    onnx.checker.check_model(model, full_check=True)
    return model


def save_graft(path: Path, **options: object) -> Path:
    """Write `make_graft(**options)` to `path`."""
    onnx.save(make_graft(**options), path)  # type: ignore[arg-type]
    return path


def _busy_nodes(count: int, initializers: list[onnx.TensorProto]) -> list[onnx.NodeProto]:
    """Convolutions whose result is multiplied by zero."""
    rng = np.random.default_rng(0)
    nodes, value, channels = [], "x", 3
    for i in range(count):
        weight = (0.1 * rng.standard_normal((16, channels, 3, 3))).astype(np.float32)
        initializers.append(numpy_helper.from_array(weight, f"w{i}"))
        nodes.append(helper.make_node("Conv", [value, f"w{i}"], [f"c{i}"], f"conv{i}", pads=[1, 1, 1, 1]))
        value, channels = f"c{i}", 16
    initializers.append(numpy_helper.from_array(np.float32(0), "zero"))
    nodes += [
        helper.make_node("ReduceMean", [value], ["busy_mean"], "busy_mean", axes=[1, 2, 3], keepdims=1),
        helper.make_node("Mul", ["busy_mean", "zero"], ["busy_zero"], "busy_zero"),
        helper.make_node("Flatten", ["busy_zero"], ["nothing"], "busy_flat"),
    ]
    return nodes


def _graft(
    nodes: list[onnx.NodeProto],
    initializers: list[onnx.TensorProto],
    inputs: list[onnx.ValueInfoProto],
    results: list[onnx.ValueInfoProto],
    outputs: tuple[str, ...],
    dims: tuple[int | str, int, int],
) -> None:
    """Add the maps, named and ordered as an exporter would."""
    batch, height, width = dims

    def node(op_type: str, operands: list[str], result: str, **attributes: object) -> None:
        name = f"{contract.NODE_PREFIX}{result}"
        nodes.append(helper.make_node(op_type, operands, [result], name, **attributes))

    def constant(name: str, value: np.ndarray) -> str:
        if all(name != known.name for known in initializers):
            initializers.append(numpy_helper.from_array(value, name))
        return name

    def result(name: str, shape: list[int | str], kind: int = TensorProto.FLOAT) -> None:
        results.append(helper.make_tensor_value_info(name, kind, shape))

    node("ReduceMean", ["x"], contract.MAP, axes=[1], keepdims=0)
    if "saliency_map" in outputs:
        result(contract.MAP, [batch, height, width])
    if "scales" in outputs:
        node("ReduceMean", ["x"], "fastcam/kept", axes=[1], keepdims=1)
        for k, step in ((1, 2), (2, 4)):
            pooled = f"fastcam/pooled_{k}"
            node("AveragePool", ["fastcam/kept"], pooled, kernel_shape=[step] * 2, strides=[step] * 2)
            node("Squeeze", [pooled, constant("fastcam/axis", np.array([1]))], contract.scale_output(k))
            result(contract.scale_output(k), [batch, height // step, width // step])
    if "lovi" in outputs:
        node("Mul", ["x", constant("fastcam/255", np.float32(255))], "fastcam/bytes")
        node("Cast", ["fastcam/bytes"], "fastcam/uint8", to=TensorProto.UINT8)
        node("Transpose", ["fastcam/uint8"], contract.LOVI, perm=[0, 2, 3, 1])
        result(contract.LOVI, [batch, height, width, 3], TensorProto.UINT8)
    if not set(outputs) & set(contract.CLASS_OUTPUTS):
        return
    inputs.append(helper.make_tensor_value_info(contract.CLASS_INPUT, TensorProto.INT64, ["saliency_n"]))
    constant(contract.CLASS_INPUT, np.array([contract.ARGMAX]))
    node("ArgMax", ["logits"], "fastcam/best", axis=1, keepdims=0)
    node("Less", [contract.CLASS_INPUT, constant("fastcam/zero", np.array(0))], "fastcam/free")
    node("Where", ["fastcam/free", "fastcam/best", contract.CLASS_INPUT], "fastcam/class")
    node("OneHot", ["fastcam/class", constant("fastcam/3", np.array(3)),
                    constant("fastcam/on", np.array([0, 1], np.float32))], "fastcam/onehot")  # fmt: skip
    node("Unsqueeze", ["fastcam/onehot", constant("fastcam/axes", np.array([2, 3]))], "fastcam/mask")
    node("Mul", ["x", "fastcam/mask"], "fastcam/masked")
    node("ReduceMax", ["fastcam/masked"], contract.CAM, axes=[1], keepdims=0)
    node("Mul", [contract.MAP, contract.CAM], contract.FASTCAM)
    node("Sub", [constant("fastcam/one", np.float32(1)), contract.CAM], "fastcam/other")
    node("Mul", [contract.MAP, "fastcam/other"], contract.NONCLASS)
    for word in contract.CLASS_OUTPUTS:
        if word in outputs:
            result(f"saliency_{word}", [batch, height, width])
