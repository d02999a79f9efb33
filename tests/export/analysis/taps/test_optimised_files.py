"""Files that onnxruntime's own optimiser has saved: the same scales, or a refusal if it changed them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from fastcam_export import GraftError, graft
from fastcam_export.load import load
from support.found_taps import found, taps_of
from support.networks import add_weights, network, small_cnn
from support.running import picture, run

from models import default_model

EXTENDED = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
LEVELS = {"basic": ort.GraphOptimizationLevel.ORT_ENABLE_BASIC, "extended": EXTENDED}


def optimised(model: onnx.ModelProto | Path, path: Path, level: ort.GraphOptimizationLevel) -> Path:
    """The model as onnxruntime's optimiser saves it."""
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    options.optimized_model_filepath = str(path)
    options.log_severity_level = 4
    source = str(model) if isinstance(model, Path) else model.SerializeToString()
    ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    return path


def operators(path: Path) -> set[str]:
    return {node.op_type for node in onnx.load(path, load_external_data=False).graph.node}


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("activation", "nonnegative", "bound"),
    [
        ("Relu ({})", True, None),
        ("Clip ({}, low, high)", True, 6.0),
        ("Clip ({}, minus, high)", False, None),
        ("Sigmoid ({})", True, 1.0),
        ("HardSigmoid <alpha=0.2, beta=0.5> ({})", True, 1.0),
        ("Tanh ({})", False, None),
        ("LeakyRelu <alpha=0.1> ({})", False, None),
    ],
)
def test_a_convolution_fused_with_its_activation(
    activation: str, nonnegative: bool, bound: float | None, level: str, tmp_path: Path
) -> None:
    """Down-sampled by strides and by pooling, with a block whose shortcut bypasses its inner activation."""
    random = np.random.default_rng(0)

    def weight(*shape: int) -> np.ndarray:
        return (random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]) / 2)).astype(np.float32)

    model = network(
        f"""
        c1 = Conv <kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]> (input, w1)
        a1 = {activation.format("c1")}
        p1 = MaxPool <kernel_shape=[2,2], strides=[2,2]> (a1)
        c2 = Conv <kernel_shape=[3,3], pads=[1,1,1,1]> (p1, w2)
        inner = {activation.format("c2")}
        c3 = Conv <kernel_shape=[3,3], pads=[1,1,1,1]> (inner, w2)
        sum = Add (c3, p1)
        a2 = {activation.format("sum")}
        c4 = Conv <kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]> (a2, w2)
        a3 = {activation.format("c4")}
        pooled = GlobalAveragePool (a3)
        flat = Flatten (pooled)
        logits = Gemm <transB=1> (flat, w4)
        """,
        w1=weight(8, 3, 3, 3), w2=weight(8, 8, 3, 3), w4=weight(10, 8),
        low=np.float32(0), high=np.float32(6), minus=np.float32(-1),
    )  # fmt: skip
    path = optimised(model, tmp_path / "optimised.onnx", LEVELS[level])
    assert ("FusedConv" in operators(path)) == (level == "extended")
    found_taps = [(tap.name, tap.nonnegative, tap.bound) for tap in taps_of(path)]
    assert found_taps == [(name, nonnegative, bound) for name in ("a1", "a2", "a3")]
    x, everything = picture(1, 3, 64, 64), ["saliency_map", "scales", "cam"]
    expected = run(graft(model, outputs=everything), input=x)
    for name, values in run(graft(path, outputs=everything), input=x).items():
        np.testing.assert_allclose(values, expected[name], atol=1e-5, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
def test_the_default_model(level: str, tmp_path: Path) -> None:
    original = default_model()
    path = optimised(original, tmp_path / "optimised.onnx", LEVELS[level])
    assert ("FusedConv" in operators(path)) == (level == "extended")
    assert [(tap.name, tap.bound) for tap in taps_of(path)] == [
        (tap.name, tap.bound) for tap in taps_of(original)
    ]
    feeds = {load(original).proto.graph.input[0].name: picture(1, 3, 224, 224)}
    expected, maps = (run(graft(model), **feeds)["saliency_map"] for model in (original, path))
    np.testing.assert_allclose(maps, expected, atol=1e-5)


def test_a_sum_fused_between_convolution_and_activation(tmp_path: Path) -> None:
    """As onnxruntime fuses it for graphics cards: the shortcut is the fourth input."""
    model = small_cnn()
    model.opset_import.add(domain="com.microsoft", version=1)
    fused = onnx.helper.make_node(
        "FusedConv", ["a1", "w", "b", "a1"], ["end"], domain="com.microsoft", activation="Relu",
        kernel_shape=[1, 1],
    )  # fmt: skip
    model.graph.node.insert(2, fused)
    model.graph.node[3].input[0] = "end"
    add_weights(model, w=np.ones((8, 8, 1, 1), np.float32), b=np.zeros(8, np.float32))
    assert found(model) == [("end", 8, 32), ("a2", 12, 16), ("a3", 16, 8)]


def test_a_free_number_of_channels_in_front_of_a_fused_convolution(tmp_path: Path) -> None:
    model = small_cnn("float[1,C,64,64] input")
    path = optimised(model, tmp_path / "optimised.onnx", EXTENDED)
    assert found(path) == [("a1", 8, 32), ("a2", 12, 16), ("a3", 16, 8)]


def test_class_maps_behind_a_fused_head_are_refused_with_what_works(tmp_path: Path) -> None:
    model = small_cnn()
    model.graph.node[-1].output[0] = "hidden"
    model.graph.node.append(onnx.helper.make_node("Relu", ["hidden"], ["active"]))
    model.graph.node.append(onnx.helper.make_node("Gemm", ["active", "w5"], ["logits"]))
    add_weights(model, w5=np.eye(10, dtype=np.float32))
    path = optimised(model, tmp_path / "optimised.onnx", EXTENDED)
    assert "FusedGemm" in operators(path)
    with pytest.raises(GraftError, match=r"no gradient through .*FusedGemm.*; saliency_map works without"):
        graft(path, outputs=["cam"])
    assert len(taps_of(path)) == 3


@pytest.mark.parametrize("opset", [17, 11])
@pytest.mark.parametrize(
    ("operator", "domain"),
    [
        ("ReorderInput", "com.microsoft.nchwc"),
        ("Conv", "com.ms.internal.nhwc"),
        ("NhwcFusedConv", "com.microsoft"),
    ],
)
def test_the_memory_layout_of_one_kind_of_processor_is_refused(
    operator: str, domain: str, opset: int, tmp_path: Path
) -> None:
    model = small_cnn(opset=opset)
    model.opset_import.add(domain=domain, version=1)
    model.graph.node[0].op_type, model.graph.node[0].domain = operator, domain
    path = tmp_path / "laid_out.onnx"
    onnx.save(model, path)
    with pytest.raises(GraftError, match=rf"laid_out.onnx is saved in the memory layout of .* \({operator} "):
        graft(path)


def test_a_file_that_onnxruntime_laid_out_here_is_refused_or_the_same(tmp_path: Path) -> None:
    """Only some processors have blocks; elsewhere the file is like one of level `EXTENDED`."""
    model = small_cnn(channels=(16, 16, 16))
    path = optimised(model, tmp_path / "all.onnx", ort.GraphOptimizationLevel.ORT_ENABLE_ALL)
    domains = {node.domain for node in onnx.load(path).graph.node}
    if "com.microsoft.nchwc" in domains:
        with pytest.raises(GraftError, match=r"one kind of processor.*start from the original file"):
            graft(path)
    else:
        assert [tap.name for tap in taps_of(path)] == ["a1", "a2", "a3"]
