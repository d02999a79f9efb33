"""Where the scales end: by name and shape, on graphs of every origin."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from types import ModuleType

import numpy as np
import onnx
import pytest
from fastcam_export import GraftError, Options
from fastcam_export.load import load
from fastcam_export.plan import plan
from fastcam_export.taps import Tap
from networks import network, residual_net, small_cnn

LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"


def taps_of(model: object, **options: object) -> list[Tap]:
    return plan(load(model), Options(**options)).taps  # type: ignore[arg-type]


def found(model: object, **options: object) -> list[tuple[str, int, int]]:
    """(name, channels, height) of each tap."""
    return [(tap.name, tap.shape[1], tap.shape[2]) for tap in taps_of(model, **options)]


LIGHT_TAPS = {
    "bvlc_alexnet": "r2 96×54, r6 256×26, r13 256×12",
    "densenet121": "r6 64×112, r103 256×56, r291 512×28, r659 1024×14, r907 1024×7",
    "inception_v1": "r1 64×112, r8 192×55, r37 480×27, r108 832×13, r137 1024×6",
    "inception_v2": "r6 64×112, r21 192×56, r124 320×28, r365 576×14, r504 1024×7",
    "resnet50": "r2 64×112, r35 256×56, r77 512×28, r139 1024×14, r171 2048×7",
    "shufflenet": "r2 24×112, r3 24×56, r52 136×28, r149 272×14, r198 544×7",
    "squeezenet": "r1 64×111, r16 128×55, r31 256×27, r64 1000×13",
    "vgg19": "r3 64×224, r8 128×112, r17 256×56, r26 512×28, r35 512×14",
    "zfnet512": "r2 96×109, r3 96×54, r6 256×25, r13 512×12",
}


@pytest.mark.parametrize("name", LIGHT_TAPS)
def test_caffe_style_graphs_of_the_onnx_package(name: str) -> None:
    taps = found(LIGHT / f"light_{name}.onnx")
    assert ", ".join(f"{tensor} {channels}×{side}" for tensor, channels, side in taps) == LIGHT_TAPS[name]


RESNET50 = [(64, 112), (256, 56), (512, 28), (1024, 14), (2048, 7)]
VGG = [(64, 224), (128, 112), (256, 56), (512, 28), (512, 14)]
TORCHVISION = {
    "alexnet": [(64, 55), (192, 27), (256, 13)],
    "vgg16": VGG,
    "vgg16_bn": VGG,
    "resnet18": [(64, 112), (64, 56), (128, 28), (256, 14), (512, 7)],
    "resnet50": RESNET50,
    "resnext50_32x4d": RESNET50,
    "densenet121": [(64, 112), (256, 56), (512, 28), (1024, 14), (1024, 7)],
    "squeezenet1_1": [(64, 111), (128, 55), (256, 27), (1000, 13)],
    "googlenet": [(64, 112), (192, 56), (480, 28), (832, 14), (1024, 7)],
    "inception_v3": [(64, 147), (192, 71), (288, 35), (768, 17), (2048, 8)],
    "shufflenet_v2_x1_0": [(24, 112), (24, 56), (116, 28), (232, 14), (1024, 7)],
    "mobilenet_v2": [(96, 112), (144, 56), (192, 28), (576, 14), (1280, 7)],
    "mobilenet_v3_small": [(16, 112), (72, 56), (96, 28), (288, 14), (576, 7)],
    "efficientnet_b0": [(96, 112), (144, 56), (240, 28), (672, 14), (1280, 7)],
    "mnasnet1_0": [(48, 112), (72, 56), (240, 28), (576, 14), (1280, 7)],
    "regnet_y_400mf": [(32, 112), (48, 56), (104, 28), (208, 14), (440, 7)],
    "convnext_tiny": [(96, 56), (192, 28), (384, 14), (768, 7)],
}
LEGACY_NAMES = {
    "resnet50": ["/relu/", "/layer1/layer1.2/relu_2/", "/layer2/layer2.3/relu_2/", "/layer3/layer3.5/relu_2/",
                 "/layer4/layer4.2/relu_2/"],
    "vgg16": [f"/features/features.{i}/" for i in (3, 8, 15, 22, 29)],
    "alexnet": ["/features/features.1/", "/features/features.4/", "/features/features.11/"],
    "densenet121": ["/features/relu0/", "/features/transition1/relu/", "/features/transition2/relu/",
                    "/features/transition3/relu/", "/Relu"],
    "mobilenet_v2": [f"/features/features.{i}/" for i in (2, 4, 7, 14, 18)],
    "squeezenet1_1": ["/features/features.1/", "/features/features.4/Concat", "/features/features.7/Concat",
                      "/classifier/classifier.2/"],
}  # fmt: skip
DYNAMO = {
    "resnet18": ["relu", "relu_4", "relu_8", "relu_12", "relu_16"],
    "shufflenet_v2_x1_0": ["relu", "max_pool2d", "view_7", "view_23", "relu_36"],
    "mobilenet_v3_small": ["hardswish", "relu_2", "hardswish_1", "hardswish_11", "hardswish_17"],
    "efficientnet_b0": ["silu_3", "silu_9", "silu_15", "silu_33", "silu_48"],
    "convnext_tiny": ["add_2", "add_5", "add_14", "add_17"],
}


def build(torchvision: ModuleType, name: str):  # type: ignore[no-untyped-def]
    """The network with constant weights: filling in random ones would take longer than the test."""
    import torch

    quick = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    # RegNet computes its widths with tensors while it is built, so these must hold values.
    with torch.device("cpu" if name.startswith("regnet") else "meta"):
        model = torchvision.models.get_model(name, weights=None, **quick)
    model.to_empty(device="cpu").eval()
    with torch.no_grad():
        for tensor in (*model.parameters(), *model.buffers()):
            tensor.fill_(1)
    return model


@pytest.mark.parametrize("name", TORCHVISION)
def test_torchvision_networks_from_the_legacy_exporter(torchvision: ModuleType, name: str) -> None:
    import torch

    side = 299 if name == "inception_v3" else 224
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            build(torchvision, name), (torch.zeros(1, 3, side, side),), buffer, dynamo=False,
            opset_version=17, do_constant_folding=True,
        )  # fmt: skip
    taps = taps_of(buffer.getvalue())
    assert [(tap.shape[1], tap.shape[2]) for tap in taps] == TORCHVISION[name]
    for tap, part in zip(taps, LEGACY_NAMES.get(name, [""] * len(taps)), strict=True):
        assert part in tap.name


@pytest.mark.parametrize("name", DYNAMO)
def test_torchvision_networks_from_the_dynamo_exporter(torchvision: ModuleType, name: str) -> None:
    import torch

    taps = plan(load(build(torchvision, name), example=torch.zeros(1, 3, 224, 224)), Options()).taps
    assert [tap.name for tap in taps] == DYNAMO[name]
    signed = [tap for tap in taps if not tap.nonnegative]
    assert bool(signed) == (name in ("mobilenet_v3_small", "efficientnet_b0", "convnext_tiny"))
    assert all("seen through a ReLU" in tap.why for tap in signed)
    assert [(tap.shape[1], tap.shape[2]) for tap in taps] == TORCHVISION[name]


def test_a_transformer_is_refused_with_what_was_looked_for(torchvision: ModuleType) -> None:
    import torch

    transformer = torchvision.models.VisionTransformer(
        image_size=64, patch_size=16, num_layers=1, num_heads=2, hidden_dim=32, mlp_dim=64
    )
    source = load(transformer, example=torch.zeros(1, 3, 64, 64))
    with pytest.raises(
        GraftError, match=r"no usable scale: looked for activated N×C×H×W tensors.*convolutional"
    ):
        plan(source, Options())


def test_an_inner_relu_that_the_shortcut_bypasses_is_not_taken() -> None:
    taps = taps_of(residual_net())
    assert [tap.name for tap in taps] == ["end", "last"]
    assert "inner (Relu): bypassed by another path" in taps[0].rejected


def test_an_mlp_is_refused() -> None:
    model = network("flat = Flatten (input) hidden = MatMul (flat, w) logits = Relu (hidden)",
                    w=np.ones((3 * 64 * 64, 10), np.float32))  # fmt: skip
    with pytest.raises(GraftError, match="no usable scale"):
        taps_of(model)


def test_a_network_of_integer_operators_is_refused_with_a_way_out() -> None:
    model = network(
        """
        q = QuantizeLinear (input, s, z)
        c = QLinearConv <kernel_shape=[3,3], strides=[2,2]> (q, s, z, w, s, wz, s, z)
        d = DequantizeLinear (c, s, z)
        pooled = GlobalAveragePool (d)
        logits = Flatten (pooled)
        """,
        s=np.float32(0.1), z=np.uint8(0), w=np.ones((10, 3, 3, 3), np.int8), wz=np.int8(0),
    )  # fmt: skip
    with pytest.raises(GraftError, match="what QLinearConv gives is integers: quantise in the QDQ format"):
        taps_of(model)


def test_a_model_without_an_image_is_refused_with_its_inputs() -> None:
    model = network("logits = Relu (x)", inputs="float[1,10] x", output="float[1,10] logits")
    with pytest.raises(GraftError, match=r"no image input.*'x' 1×10"):
        taps_of(model)


def test_nhwc_input_behind_a_transpose() -> None:
    model = small_cnn("float[1,64,64,3] picture")
    node = onnx.helper.make_node("Transpose", ["picture"], ["input"], perm=[0, 3, 1, 2])
    model.graph.node.insert(0, node)
    found_plan = plan(load(model), Options())
    assert found_plan.ends.layout == "NHWC"
    assert found_plan.ends.size == (64, 64)
    assert [tap.name for tap in found_plan.taps] == ["a1", "a2", "a3"]


@pytest.mark.parametrize(
    "copied", ["last = Identity (t)", "q = QuantizeLinear (t, s) last = DequantizeLinear (q, s)"]
)
def test_a_trailing_nhwc_copy_is_not_a_tap(copied: str) -> None:
    """Keras ends in Transpose → mean over the pixels: the transposed tensor has no channel axis 1."""
    model = small_cnn()
    nodes = [n for n in model.graph.node if n.op_type not in ("GlobalAveragePool", "Flatten")]
    nodes.insert(-1, onnx.helper.make_node("Transpose", ["a3"], ["t"], perm=[0, 2, 3, 1]))
    nodes[-1:-1] = onnx.parser.parse_graph(f"g (float t) => (float last) {{ {copied} }}").node
    nodes.insert(-1, onnx.helper.make_node("ReduceMean", ["last"], ["flat"], axes=[1, 2], keepdims=0))
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.float32(0.1), "s"))
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    assert found(model) == [("a1", 8, 32), ("a2", 12, 16), ("a3", 16, 8)]


@pytest.mark.parametrize("inputs", ["float[N,3,64,64] input", "float[N,3,H,W] input"])
def test_dynamic_dimensions(inputs: str) -> None:
    assert [tap.name for tap in taps_of(small_cnn(inputs))] == ["a1", "a2", "a3"]


def test_shapes_hidden_behind_a_computed_pad_are_learnt_from_a_run() -> None:
    """The legacy exporter writes 'same' padding as arithmetic on shapes, which inference gives up on."""
    model = network(
        """
        shape = Shape (input)
        side = Gather (shape, two)
        rest = Mod (side, two)
        pad = Add (rest, one)
        zero = Sub (pad, pad)
        pads = Concat <axis=0> (zero, zero, zero, zero, zero, zero, pad, pad)
        padded = Pad (input, pads)
        c1 = Conv <kernel_shape=[3,3], strides=[2,2]> (padded, w1)
        a1 = Relu (c1)
        c2 = Conv <kernel_shape=[3,3], strides=[2,2]> (a1, w2)
        a2 = Relu (c2)
        pooled = GlobalAveragePool (a2)
        logits = Flatten (pooled)
        """,
        inputs="float[1,3,64,64] input", two=np.array([2]), one=np.array([1]),
        w1=np.ones((8, 3, 3, 3), np.float32), w2=np.ones((10, 8, 3, 3), np.float32),
    )  # fmt: skip
    assert found(model) == [("a1", 8, 32), ("a2", 10, 15)]


def test_a_quantised_graph_is_tapped_behind_dequantisation() -> None:
    model = network(
        """
        c1 = Conv <kernel_shape=[3,3], strides=[2,2]> (input, w1)
        a1 = Relu (c1)
        q1 = QuantizeLinear (a1, scale, zero)
        d1 = DequantizeLinear (q1, scale, zero)
        c2 = Conv <kernel_shape=[3,3], strides=[2,2]> (d1, w2)
        q2 = QuantizeLinear (c2, scale, zero)
        left = DequantizeLinear (q2, scale, zero)
        right = DequantizeLinear (q2, scale, zero)
        sum = Add (left, right)
        pooled = GlobalAveragePool (sum)
        logits = Flatten (pooled)
        """,
        scale=np.array(0.1, np.float32), zero=np.array(0, np.uint8),
        w1=np.ones((8, 3, 3, 3), np.float32), w2=np.ones((10, 8, 3, 3), np.float32),
    )  # fmt: skip
    taps = taps_of(model)
    assert [(tap.name, tap.nonnegative) for tap in taps] == [("d1", True), ("sum", True)]


@pytest.mark.parametrize("before", ["c1", "c2"], ids=["in front", "in the middle"])
def test_scales_behind_a_branch(before: str) -> None:
    """An `If` captures what it reads: the picture passes through it all the same."""
    model = small_cnn()
    node = next(node for node in model.graph.node if node.output[0] == before)
    entering, node.input[0] = node.input[0], "chosen"
    bodies = {
        name: onnx.parser.parse_graph(f"{name} () => (float[] {name}) {{ {name} = {operator} ({entering}) }}")
        for name, operator in (("same", "Identity"), ("negated", "Neg"))
    }
    branch = onnx.helper.make_node(
        "If", ["flag"], ["chosen"], then_branch=bodies["same"], else_branch=bodies["negated"]
    )
    model.graph.node.insert(list(model.graph.node).index(node), branch)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array(True), "flag"))
    assert found(model) == [("a1", 8, 32), ("a2", 12, 16), ("a3", 16, 8)]


def test_taps_by_name_override_the_rule() -> None:
    assert found(small_cnn(), taps=["a1", "c3"]) == [("a1", 8, 32), ("c3", 16, 8)]
    assert found(small_cnn(), taps="a2") == [("a2", 12, 16)]


def test_an_unknown_tap_gets_the_closest_names() -> None:
    with pytest.raises(GraftError, match=r"no tensor named 'relu_a1'; closest: .*a1"):
        taps_of(small_cnn(), taps=["relu_a1"])
    with pytest.raises(GraftError, match="'flat' cannot be tapped"):
        taps_of(small_cnn(), taps=["flat"])


def test_two_branches_without_a_dominator_fall_back_and_say_so() -> None:
    """Two streams that meet only in the head: no tensor carries everything."""
    model = network(
        """
        l1 = Conv <kernel_shape=[3,3], strides=[2,2]> (input, w1)
        la = Relu (l1)
        lp = GlobalAveragePool (la)
        r1 = Conv <kernel_shape=[3,3], strides=[2,2]> (input, w1)
        ra = Relu (r1)
        rp = GlobalAveragePool (ra)
        both = Concat <axis=1> (lp, rp)
        logits = Flatten (both)
        """,
        w1=np.ones((8, 3, 3, 3), np.float32),
    )
    (tap,) = taps_of(model)
    assert tap.name == "ra"
    assert "no dominator" in tap.why


@pytest.mark.parametrize(
    ("activation", "nonnegative", "bound"),
    [
        ("a = Relu (c)", True, None),
        ("a = Clip (c, low, high)", True, 6.0),
        ("k = Clip (c, low, high) a = Identity (k)", True, 6.0),
        ("a = Clip (c, low)", True, None),
        ("k = Clip (c, low, high) a = Mul (k, high)", True, None),
        ("a = Sigmoid (c)", True, 1.0),
        ("s = Sigmoid (c) a = Mul (c, s)", False, None),
        ("h = HardSigmoid (c) a = Mul (c, h)", False, None),
        ("t = Add (c, three) u = Clip (t, low, high) v = Mul (c, u) a = Div (v, high)", False, None),
        ("a = Max (c, low)", True, None),
        ("r = Relu (c) a = Min (r, high)", True, 6.0),
        ("k = Clip (c, low, high) a = Min (k, three)", True, 3.0),
        ("l = LeakyRelu (c) a = Min (l, high)", False, None),
        ("a = ThresholdedRelu (c)", True, None),
        ("a = LeakyRelu (c)", False, None),
        ("r = Relu (c) a = LRN <size=3> (r)", True, None),
        ("r = Relu (c) a = LRN <size=3, bias=-1.0> (r)", False, None),
        ('r = Relu (c) a = Resize <mode="linear"> (r, , same)', True, None),
        ('r = Relu (c) a = Resize <mode="cubic"> (r, , same)', False, None),
        ("a = HardSwish (c)", False, None),
        ("t = Div (c, root) e = Erf (t) p = Add (e, unit) m = Mul (c, p) a = Mul (m, half)", False, None),
    ],
)
def test_activations_written_out_in_small_operators_are_recognised(
    activation: str, nonnegative: bool, bound: float | None
) -> None:
    model = network(
        f"""
        c = Conv <kernel_shape=[3,3], strides=[2,2]> (input, w)
        {activation}
        c2 = Conv <kernel_shape=[3,3], strides=[2,2]> (a, w2)
        pooled = GlobalAveragePool (c2)
        logits = Flatten (pooled)
        """,
        w=np.ones((8, 3, 3, 3), np.float32), w2=np.ones((10, 8, 3, 3), np.float32),
        low=np.array(0, np.float32), high=np.array(6, np.float32), three=np.array(3, np.float32),
        root=np.array(1.4142, np.float32), unit=np.array(1, np.float32), half=np.array(0.5, np.float32),
        same=np.ones(4, np.float32),
    )  # fmt: skip
    (tap,) = taps_of(model)
    assert (tap.name, tap.nonnegative, tap.bound) == ("a", nonnegative, bound)


def behind(preprocessing: str, **weights: np.ndarray) -> onnx.ModelProto:
    """One convolution `a` that reads `p`, which the nodes of `preprocessing` make of the input."""
    return network(
        f"""
        {preprocessing}
        c = Conv <kernel_shape=[3,3], strides=[2,2]> (p, w)
        a = Relu (c)
        pooled = GlobalAveragePool (a)
        logits = Flatten (pooled)
        """,
        w=np.ones((10, 3, 3, 3), np.float32), **weights,
    )  # fmt: skip


@pytest.mark.parametrize(
    "preprocessing", ["p = Clip (input, low)", "p = Relu (input)", "p = Sigmoid (input)"]
)
def test_what_no_convolution_precedes_is_no_scale(preprocessing: str) -> None:
    model = behind(preprocessing, low=np.array(0, np.float32))
    assert [tap.name for tap in taps_of(model)] == ["a"]
    assert [tap.name for tap in taps_of(model, taps=["p", "a"])] == ["p", "a"]


@pytest.mark.parametrize(("dtype", "nonnegative"), [(2, True), (3, False), (4, True)])
def test_the_type_of_a_quantised_tensor_without_a_zero_point(dtype: int, nonnegative: bool) -> None:
    model = network(
        f"""
        c = Conv <kernel_shape=[3,3], strides=[2,2]> (input, w)
        l = LeakyRelu (c)
        q = QuantizeLinear <output_dtype={dtype}> (l, scale)
        a = DequantizeLinear (q, scale)
        pooled = GlobalAveragePool (a)
        logits = Flatten (pooled)
        """,
        opset=21, w=np.ones((10, 3, 3, 3), np.float32), scale=np.array(0.1, np.float32),
    )  # fmt: skip
    (tap,) = taps_of(model)
    assert (tap.name, tap.nonnegative) == ("a", nonnegative)


@pytest.mark.parametrize(
    ("preprocessing", "cut"),
    [
        ("p = Slice (input, zero, sixteen, width)", "64×16"),
        ("p = Slice (input, zero, sixteen, height)", "16×64"),
        ("p = Slice (input, zero, sixty_four, width)", None),
        ("p = Slice (input, zero, sixty_four, width, two)", None),
        ("p = Identity (input)", None),
    ],
)
def test_a_picture_that_the_network_cuts_is_told(preprocessing: str, cut: str | None) -> None:
    model = behind(
        preprocessing, zero=np.array([0]), sixteen=np.array([16]), sixty_four=np.array([64]),
        width=np.array([3]), height=np.array([2]), two=np.array([2]),
    )  # fmt: skip
    notes = plan(load(model), Options()).notes
    assert len(notes) == (cut is not None)
    assert all(f"cuts its picture to {cut}:" in note for note in notes)
