"""Files for accelerators: only operators of their lists, and the same maps."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime as ort
import pytest
from fastcam_export import graft
from fastcam_export.authoring.ops import Ops
from fastcam_export.deploy.rewrite import erf, log
from fastcam_export.deploy.targets import TARGETS
from fastcam_export.errors import GraftError
from fastcam_models import default_model
from fastcam_runtime.contract import CLASS_INPUT, NODE_PREFIX, PREPROCESS, ImageInput
from fastcam_runtime.preprocess import Preprocessor
from scipy import special
from support.networks import residual_net, small_cnn
from support.running import metadata_of
from support.shared_data import shared

LISTED = [name for name, target in TARGETS.items() if target.operators is not None]
CHELSEA = Path(__file__).parents[3] / "runtime/fastcam_runtime/sources/clip/chelsea.jpg"


def branch_operators(model: onnx.ModelProto) -> set[str]:
    return {node.op_type for node in model.graph.node if node.name.startswith(NODE_PREFIX)} - {"Constant"}


def picture(height: int, width: int) -> np.ndarray:
    image = ImageInput("x", "NCHW", 3, height, width)
    return Preprocessor(image, PREPROCESS["unit"])(cv2.imread(str(CHELSEA)))[0]


def run(model: onnx.ModelProto, x: np.ndarray) -> dict[str, np.ndarray]:
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    feeds = {session.get_inputs()[0].name: x}
    if any(value.name == CLASS_INPUT for value in session.get_inputs()):
        feeds[CLASS_INPUT] = np.array([-1], np.int64)
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("network", [small_cnn, residual_net])
def test_same_maps_with_operators_of_the_list(name: str, network: object) -> None:
    plain = network()  # type: ignore[operator]
    wanted, found = graft(plain), graft(plain, target=name)
    assert not found.functions
    allowed = TARGETS[name].operators
    if allowed is not None:
        assert branch_operators(found) <= allowed
    dims = found.graph.input[0].type.tensor_type.shape.dim
    x = picture(dims[2].dim_value, dims[3].dim_value)
    before, after = run(wanted, x), run(found, x)
    assert list(before) == list(after)
    np.testing.assert_allclose(after["saliency_map"], before["saliency_map"], atol=1e-4, rtol=0)
    np.testing.assert_allclose(after["logits"], before["logits"], rtol=1e-5, atol=1e-6)
    if TARGETS[name].fixed_batch:
        assert dims[0].dim_value == 1


def test_openvino_converts_each_tap_once() -> None:
    """Every Reshape or MatMul of a tap would make it convert the tensor from its own layout to planes."""
    found = graft(default_model(), target="openvino")
    taps = [tap.name for tap in metadata_of(found).taps]
    readers = [
        [node.op_type for node in found.graph.node if node.name.startswith(NODE_PREFIX) and tap in node.input]
        for tap in taps
    ]
    assert readers == [["Reshape"]] * 5


@pytest.mark.slow
@pytest.mark.parametrize("name", LISTED)
def test_default_model_for_every_list(name: str) -> None:
    wanted, found = graft(default_model()), graft(default_model(), target=name)
    assert branch_operators(found) <= (TARGETS[name].operators or set())
    x = picture(224, 224)
    np.testing.assert_allclose(
        run(found, x)["saliency_map"], run(wanted, x)["saliency_map"], atol=1e-4, rtol=0
    )


@pytest.mark.slow
def test_class_maps_where_the_list_has_them_and_a_clear_refusal_where_not() -> None:
    plain = small_cnn()
    outputs = ("saliency_map", "cam", "fastcam")
    wanted, found = graft(plain, outputs=outputs), graft(plain, outputs=outputs, target="qnn")
    dims = found.graph.input[0].type.tensor_type.shape.dim
    x = picture(dims[2].dim_value, dims[3].dim_value)
    before, after = run(wanted, x), run(found, x)
    for output in ("saliency_cam", "saliency_fastcam"):
        np.testing.assert_allclose(after[output], before[output], atol=1e-4, rtol=0)
    with pytest.raises(GraftError, match="target nnapi: the requested outputs need ArgMax"):
        graft(plain, outputs=outputs, target="nnapi")


@pytest.mark.parametrize("name", LISTED)
def test_half_precision_for_every_list(name: str) -> None:
    plain = small_cnn("float16[1,3,64,64] input", dtype=np.float16)
    wanted, found = graft(plain), graft(plain, target=name)
    allowed = TARGETS[name].operators
    assert allowed is not None
    assert branch_operators(found) <= allowed
    x = picture(64, 64).astype(np.float16)
    np.testing.assert_allclose(
        run(found, x)["saliency_map"], run(wanted, x)["saliency_map"], atol=1e-4, rtol=0
    )


def test_quantised_network_for_a_target_without_quantisation_says_what_to_do() -> None:
    with pytest.raises(
        GraftError, match="need DequantizeLinear, which it lacks; export the network from before"
    ):
        graft(shared("models/mobilenet_v2-int8-qdq.onnx"), target="coreml")


def test_unknown_target_is_refused_with_the_known_ones() -> None:
    with pytest.raises(GraftError, match="no target named 'nnap'; closest: nnapi"):
        graft(small_cnn(), target="nnap")


@pytest.mark.parametrize(("rule", "exact"), [(erf, special.erf), (log, np.log)])
def test_replacements_of_functions(rule: object, exact: object) -> None:
    x = np.linspace(-5, 5, 1001) if rule is erf else np.exp(np.linspace(-40, 40, 1001))
    source = ir.Value(name="x", shape=ir.Shape([x.size]), type=ir.TensorType(ir.DataType.FLOAT))
    op = Ops(17)
    result = rule(op, ir.Node("", "Any", [source]))  # type: ignore[operator]
    result.name, result.type = "y", source.type
    graph = ir.Graph([source], [result], nodes=op.nodes, opset_imports={"": 17}, name="one")
    model = ir.to_proto(ir.Model(graph, ir_version=9))
    found = ort.InferenceSession(model.SerializeToString()).run(None, {"x": x.astype(np.float32)})[0]
    np.testing.assert_allclose(found, exact(x.astype(np.float32)), atol=1e-4, rtol=1e-5)  # type: ignore[operator]
