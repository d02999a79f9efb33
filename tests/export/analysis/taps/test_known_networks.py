"""Where the scales of well-known networks end: by name and shape, from every exporter."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from types import ModuleType

import onnx
import pytest
from fastcam_export import GraftError, Options
from fastcam_export.analysis.plan import plan
from fastcam_export.load import load
from support.found_taps import found, taps_of

LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"


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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("name", DYNAMO)
def test_torchvision_networks_from_the_dynamo_exporter(torchvision: ModuleType, name: str) -> None:
    import torch

    taps = plan(load(build(torchvision, name), example=torch.zeros(1, 3, 224, 224)), Options()).taps
    assert [tap.name for tap in taps] == DYNAMO[name]
    signed = [tap for tap in taps if not tap.nonnegative]
    assert bool(signed) == (name in ("mobilenet_v3_small", "efficientnet_b0", "convnext_tiny"))
    assert all("a ReLU is applied first" in tap.why for tap in signed)
    assert [(tap.shape[1], tap.shape[2]) for tap in taps] == TORCHVISION[name]


@pytest.mark.slow
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
