"""The grafted file: the unchanged network, and maps that follow the formulas and the picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from fastcam_export import GraftError, export, graft
from fastcam_runtime.contract import METADATA_KEY
from onnx import numpy_helper
from support.networks import network, residual_net, small_cnn
from support.oracle import method
from support.running import metadata_of, picture
from support.shared_data import shared


def run(model: onnx.ModelProto | Path, feeds: dict[str, np.ndarray], names: Sequence[str] | None = None):  # type: ignore[no-untyped-def]
    source = str(model) if isinstance(model, Path) else model.SerializeToString()
    session = ort.InferenceSession(source, providers=["CPUExecutionProvider"])
    names = list(names or [o.name for o in session.get_outputs()])
    return dict(zip(names, session.run(names, feeds), strict=True))


def with_outputs(model: onnx.ModelProto, names: Sequence[str]) -> onnx.ModelProto:
    """The plain network with inner tensors as outputs, for the oracle."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    copy.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    return copy


NORMALIZE = {"gauss": method.gauss, "gamma": method.gamma, "range": method.stretch}


def expected_map(model: onnx.ModelProto, x: np.ndarray, taps: Sequence[str], weights: Sequence[float],
                 normalize: str = "gauss") -> np.ndarray:  # fmt: skip
    plain = run(with_outputs(model, taps), {"input": x})
    maps = [NORMALIZE[normalize](method.smoe(plain[tap])) for tap in taps]
    return method.combine(maps, weights, *x.shape[2:])


@pytest.mark.parametrize("inline", [False, True])
@pytest.mark.parametrize("normalize", NORMALIZE)
def test_the_combined_map_follows_the_formulas(normalize: str, inline: bool) -> None:
    model = small_cnn()
    x = picture(1, 3, 64, 64)
    result = run(graft(model, normalize=normalize, inline=inline), {"input": x})
    expected = expected_map(model, x, ["a1", "a2", "a3"], [1, 2, 3], normalize)
    assert result["saliency_map"].shape == (1, 64, 64)
    assert result["saliency_map"].dtype == np.float32
    np.testing.assert_allclose(result["saliency_map"], expected, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("opset", [13, 17, 18, 21])
@pytest.mark.parametrize("inputs", ["float[N,3,H,W] input", "float[N,3,96,64] input"])
def test_free_dimensions_stay_free(inputs: str, opset: int) -> None:
    model = small_cnn(inputs, opset=opset)
    grafted = graft(model, outputs=["saliency_map", "scales"])
    shapes = [(2, 3, 96, 64)] if "96" in inputs else [(1, 3, 64, 64), (3, 3, 33, 50), (1, 3, 224, 160)]
    for shape in shapes:
        x = picture(*shape)
        result = run(grafted, {"input": x})
        np.testing.assert_allclose(
            result["saliency_map"], expected_map(model, x, ["a1", "a2", "a3"], [1, 2, 3]), atol=1e-4
        )
        assert result["saliency_scale_1"].shape == (shape[0], -(-shape[2] // 2), -(-shape[3] // 2))


def test_each_image_of_a_batch_is_normalised_alone() -> None:
    grafted = graft(small_cnn("float[N,3,64,64] input"))
    x = np.concatenate([picture(1, 3, 64, 64), 40 * picture(1, 3, 64, 64, seed=2)])
    together = run(grafted, {"input": x})["saliency_map"]
    for i in range(2):
        alone = run(grafted, {"input": x[i : i + 1]})["saliency_map"]
        np.testing.assert_allclose(together[i], alone[0], atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_original_outputs_are_bit_equal(seed: int) -> None:
    model = residual_net()
    x = picture(1, 3, 64, 64, seed=seed)
    before, after = run(model, {"input": x}), run(graft(model), {"input": x})
    assert np.array_equal(before["logits"], after["logits"])


def test_inputs_and_outputs_keep_name_order_and_type() -> None:
    model = small_cnn()
    grafted = graft(model, outputs=["scales", "saliency_map"])
    assert [i.name for i in grafted.graph.input] == ["input"]
    assert [o.name for o in grafted.graph.output] == [
        "logits", "saliency_map", "saliency_scale_1", "saliency_scale_2", "saliency_scale_3",
    ]  # fmt: skip
    assert grafted.graph.output[0] == model.graph.output[0]
    assert list(grafted.graph.node)[: len(model.graph.node)] == list(model.graph.node)


def test_the_model_passed_in_is_not_changed() -> None:
    model = small_cnn()
    before = model.SerializeToString()
    graft(model)
    assert model.SerializeToString() == before


def test_scale_outputs_are_the_normalised_maps_at_their_own_size() -> None:
    model, x = small_cnn(), picture(1, 3, 64, 64)
    result = run(graft(model, outputs=["scales"]), {"input": x})
    plain = run(with_outputs(model, ["a1", "a2", "a3"]), {"input": x})
    assert "saliency_map" not in result
    for k, tap in enumerate(["a1", "a2", "a3"], start=1):
        np.testing.assert_allclose(
            result[f"saliency_scale_{k}"], method.gauss(method.smoe(plain[tap])), atol=1e-5
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("weights", "expected"), [("equal", [1, 1, 1]), ("linear", [1, 2, 3]), ([0, 5, 1], [0, 5, 1])]
)
def test_weights(weights: str | list[float], expected: list[float]) -> None:
    model, x = small_cnn(), picture(1, 3, 64, 64)
    grafted = graft(model, weights=weights)
    result = run(grafted, {"input": x})["saliency_map"]
    np.testing.assert_allclose(result, expected_map(model, x, ["a1", "a2", "a3"], expected), atol=1e-4)
    assert [tap.weight for tap in metadata_of(grafted).taps] == expected


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("prior", "'prior' are for 5 scales, this network has 3"),
        ("first", "no weights named 'first': use one of prior, equal, linear"),
        ([1, 2], "2 weights for 3 scales"),
        ([0, 0, 0], "not all zero"),
        ([1, -1, 2], "not negative"),
    ],
)
def test_bad_weights(weights: str | list[float], message: str) -> None:
    with pytest.raises(GraftError, match=message):
        graft(small_cnn(), weights=weights)


def test_metadata_says_what_was_done_and_keeps_what_was_there() -> None:
    model = small_cnn()
    model.metadata_props.add(key="author", value="somebody")
    model.metadata_props.add(key="names", value="{0: 'zero', 1: 'one', 2: 'two', 3: 'three', 4: 'four', "
                             "5: 'five', 6: 'six', 7: 'seven', 8: 'eight', 9: 'nine'}")  # fmt: skip
    grafted = graft(model, resize="letterbox", preprocess="signed")
    keys = {entry.key for entry in grafted.metadata_props}
    assert {key for key in keys if not key.startswith("model_info ")} == {"author", "names", METADATA_KEY}
    assert "model_info labels" in keys  # for Model API
    metadata = metadata_of(grafted)
    assert [(tap.name, tap.shape) for tap in metadata.taps] == [
        ("a1", (None, 8, 32, 32)), ("a2", (None, 12, 16, 16)), ("a3", (None, 16, 8, 8)),
    ]  # fmt: skip
    assert metadata.labels[3] == "three"
    assert metadata.preprocess.mean == (127.5, 127.5, 127.5)
    assert (metadata.statistic, metadata.epsilon, metadata.normalize) == ("smoe", 1e-6, "gauss")
    assert (metadata.resize, metadata.scores, metadata.scores_are) == ("letterbox", "logits", "logits")
    assert len(metadata.source_sha256) == 64


def test_labels_must_fit_the_classes() -> None:
    assert metadata_of(graft(small_cnn(), labels=list("abcdefghij"))).labels == tuple("abcdefghij")
    with pytest.raises(GraftError, match="2 labels for 10 classes"):
        graft(small_cnn(), labels=["a", "b"])
    with pytest.raises(GraftError, match="2 labels for 1 class of logits; give one label, for what a high"):
        graft(small_cnn(classes=1), labels=["dog", "cat"])


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["[N,1,10]", "[N,1,1,10]", "[N,10,1,1]"])
def test_classes_are_counted_along_any_axis(shape: str) -> None:
    model = small_cnn()
    model.graph.node[-1].output[0] = "flat_logits"
    model.graph.node.append(onnx.helper.make_node("Reshape", ["flat_logits", "form"], ["logits"]))
    form = [int(d) if d.isdigit() else 1 for d in shape.strip("[]").split(",")]
    model.graph.initializer.append(numpy_helper.from_array(np.array(form), "form"))
    model.graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info("logits", onnx.TensorProto.FLOAT, form))
    assert metadata_of(graft(model, labels=list("abcdefghij"))).labels == tuple("abcdefghij")
    with pytest.raises(GraftError, match="2 labels for 10 classes"):
        graft(model, labels=list("ab"))


def test_an_index_is_no_score() -> None:
    model = small_cnn()
    model.graph.node.append(onnx.helper.make_node("ArgMax", ["logits"], ["best"], axis=1))
    model.graph.output.insert(0, onnx.helper.make_tensor_value_info("best", onnx.TensorProto.INT64, ["N", 1]))
    assert metadata_of(graft(model)).scores == "logits"


def test_a_network_that_makes_two_pictures_of_one_is_refused(tmp_path: Path) -> None:
    model = small_cnn()
    first = model.graph.node[0]
    first.input[0] = "twice"
    model.graph.node.insert(0, onnx.helper.make_node("Concat", ["input", "input"], ["twice"], axis=0))
    onnx.save(model, tmp_path / "m.onnx")
    with pytest.raises(GraftError, match="the network gives 2 maps for 1 picture"):
        export(tmp_path / "m.onnx", tmp_path / "out.onnx")


def test_grafted_nodes_are_functions_that_netron_shows_by_name() -> None:
    grafted = graft(small_cnn())
    calls = [node.op_type for node in grafted.graph.node if node.domain == "fastcam"]
    # Channel counts that are split differently need different functions, which are numbered.
    statistics = ["SmoeScale", "SmoeScale2", "SmoeScale3"]
    assert calls == [call for one in statistics for call in (one, "GaussNormalize")] + ["CombineScales"]
    assert {function.name for function in grafted.functions} == set(calls)
    assert all(node.name.startswith("fastcam/") for node in grafted.graph.node if node.domain == "fastcam")
    onnx.checker.check_model(grafted, full_check=True)


def test_scales_that_need_the_same_function_share_it() -> None:
    grafted = graft(residual_net())
    calls = [node.op_type for node in grafted.graph.node if node.op_type.startswith("SmoeScale")]
    assert len(calls) > len(set(calls))
    assert set(calls) < {function.name for function in grafted.functions}


def test_inline_leaves_plain_operators_only() -> None:
    grafted = graft(small_cnn(), inline=True)
    assert not grafted.functions
    assert {node.domain for node in grafted.graph.node} == {""}
    assert [o.domain for o in grafted.opset_import] == [""]
    names = [node.name for node in grafted.graph.node]
    added = len(names) - len(small_cnn().graph.node)
    assert sum(name.startswith("fastcam/") for name in names) == added
    constants = [node for node in grafted.graph.node if node.op_type == "Constant"]
    assert {attribute.name for node in constants for attribute in node.attribute} == {"value"}


def test_a_taken_output_name_is_refused_with_both_names() -> None:
    model = small_cnn()
    model.graph.node[1].output[0] = "saliency_map"
    model.graph.node[2].input[0] = "saliency_map"
    model.graph.node[1].name = "first relu"
    with pytest.raises(GraftError, match=r"'saliency_map' cannot be added.*node 'first relu' \(Relu\)"):
        graft(model)


def test_grafting_twice_is_refused() -> None:
    for inline in (False, True):
        with pytest.raises(GraftError, match="grafted already"):
            graft(graft(small_cnn(), inline=inline))


@pytest.mark.slow
def test_the_map_moves_with_the_object(tmp_path: Path) -> None:
    """A real network, a bright disc on gray: the map's centre of mass follows it."""
    target = tmp_path / "grafted.onnx"
    export(shared("models/mobilenet_v2.onnx"), target)
    y, x = np.mgrid[:224, :224]
    centres = []
    for cx in (70, 154):
        disc = ((x - cx) ** 2 + (y - 112) ** 2 < 30**2).astype(np.float32)
        saliency = run(target, {"input": np.repeat(disc[None, None] * 3 - 1, 3, axis=1)})["saliency_map"][0]
        top = saliency >= np.quantile(saliency, 0.9)
        centres.append(float(x[top].mean()))
    assert centres[1] - centres[0] > 40
    assert abs(centres[0] - 70) < 30
    assert abs(centres[1] - 154) < 30


def test_a_dead_network_gives_a_flat_map() -> None:
    """All activations zero: every scale is constant, so 0.5 by definition."""
    model = small_cnn()
    for tensor in model.graph.initializer:
        tensor.CopyFrom(numpy_helper.from_array(np.zeros_like(numpy_helper.to_array(tensor)), tensor.name))
    result = run(graft(model), {"input": picture(1, 3, 64, 64)})["saliency_map"]
    np.testing.assert_array_equal(result, np.full((1, 64, 64), 0.5, np.float32))


def test_half_precision_networks_keep_their_outputs() -> None:
    model = small_cnn("float16[1,3,64,64] input", dtype=np.float16)
    x = picture(1, 3, 64, 64).astype(np.float16)
    before, after = run(model, {"input": x}), run(graft(model), {"input": x})
    assert np.array_equal(before["logits"], after["logits"])
    assert after["saliency_map"].dtype == np.float32


def test_uint8_and_gray_inputs() -> None:
    model = network(
        """
        real = Cast <to=1> (input)
        c = Conv <kernel_shape=[3,3], strides=[2,2]> (real, w)
        a = Relu (c)
        pooled = GlobalAveragePool (a)
        logits = Flatten (pooled)
        """,
        inputs="uint8[1,1,32,32] input", w=np.ones((10, 1, 3, 3), np.float32),
    )  # fmt: skip
    metadata = metadata_of(graft(model))
    assert metadata.preprocess.order == "GRAY"
    assert (metadata.preprocess.mean, metadata.preprocess.std) == ((0.0,), (1.0,))
    assert metadata.image.channels == 1


def test_a_softmax_at_the_end_is_noted() -> None:
    model = small_cnn()
    model.graph.node[-1].output[0] = "raw"
    model.graph.node.append(onnx.helper.make_node("Softmax", ["raw"], ["logits"], axis=1))
    assert metadata_of(graft(model)).scores_are == "probabilities"


def test_models_with_local_functions_are_inlined_first() -> None:
    """A whole stage may hide in a function, as some exporters write it; taps lie inside."""
    text = """
    <ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    net (float[1,3,32,32] input, float[8,3,3,3] w) => (float[N,8] logits) {
        a = local.Stage (input, w)
        pooled = GlobalAveragePool (a)
        logits = Flatten (pooled)
    }
    <domain: "local", opset_import: ["" : 17]>
    Stage (x, w) => (y) { c = Conv <kernel_shape=[3,3], strides=[2,2]> (x, w)  y = Relu (c) }
    """
    model = onnx.parser.parse_model(text)
    model.graph.input.pop()
    model.graph.initializer.append(numpy_helper.from_array(np.ones((8, 3, 3, 3), np.float32), "w"))
    assert [tap.shape for tap in metadata_of(graft(model)).taps] == [(None, 8, 15, 15)]
