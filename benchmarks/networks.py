"""The networks that are measured: as torch modules, and as plain ONNX files in a cache."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from fastcam_export.load.torch_module import export_torch
from fastcam_models import default_model
from fastcam_runtime.errors import ModelError
from torch import nn

RESULTS = Path(__file__).with_name("results")
SIZE = 224

_RECIPE = 1
"""Part of the cached files' names: count it up when a network is built in another way."""


def import_torchvision() -> ModuleType:
    """torchvision, whichever torch it was compiled for: its networks are plain Python.

    The compiled operators of the published wheel want the CUDA build of torch. Where they did not load,
    the import stops at two operators of the detection models; declaring their schemas is enough.
    """
    try:
        import torchvision
    except RuntimeError:
        library = torch.library.Library("torchvision", "DEF")
        library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        library.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        import torchvision

        torchvision._declared_operators = library  # the declarations end with the object
    module: ModuleType = torchvision
    return module


class _DenseNet(nn.Module):  # type: ignore[misc]
    """torchvision's DenseNet with its last ReLU as a module, where hooks can reach it."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.features, self.classifier = network.features, network.classifier
        self.last = nn.ReLU()

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        features = self.last(self.features(image))
        return self.classifier(torch.flatten(nn.functional.adaptive_avg_pool2d(features, 1), 1))


@dataclass(frozen=True)
class Network:
    """One network: how its module is built, and which part of it gives the last scale."""

    title: str
    make: Callable[[ModuleType], Any]
    """The module, given torchvision."""
    last: Callable[[Any], Any]
    """The submodule whose output is the last tap: what others call the target layer."""
    linear_head: bool
    """GlobalAveragePool → Linear: class maps in closed form."""
    trained: bool = False


def _densenet121(torchvision: ModuleType) -> nn.Module:
    return _DenseNet(torchvision.models.densenet121())


def _mobilenet_v2(torchvision: ModuleType) -> nn.Module:
    from fastcam_models import build

    network = torchvision.models.mobilenet_v2()
    checkpoint = build.checkpoint_path(build.RECIPES["mobilenet_v2"])
    network.load_state_dict(torch.load(checkpoint, map_location="cpu", weights_only=True))
    return network


def _efficientnet_lite0(_: ModuleType) -> nn.Module:
    from fastcam_models import build

    return build.load(build.RECIPES["efficientnet-lite0"])


NETWORKS = {
    "resnet18": Network("ResNet-18", lambda tv: tv.models.resnet18(), lambda m: m.layer4[-1], True),
    "resnet50": Network("ResNet-50", lambda tv: tv.models.resnet50(), lambda m: m.layer4[-1], True),
    "vgg16": Network("VGG16", lambda tv: tv.models.vgg16(), lambda m: m.features[29], False),
    "densenet121": Network("DenseNet-121", _densenet121, lambda m: m.last, True),
    "mobilenet_v2": Network("MobileNetV2", _mobilenet_v2, lambda m: m.features[-1], True, trained=True),
    "mobilenet_v3_small": Network(
        "MobileNetV3-small", lambda tv: tv.models.mobilenet_v3_small(), lambda m: m.features[-1], False
    ),
    "squeezenet1_1": Network(
        "SqueezeNet 1.1", lambda tv: tv.models.squeezenet1_1(), lambda m: m.classifier[2], False
    ),
    "efficientnet_lite0": Network(
        "EfficientNet-Lite0", _efficientnet_lite0, lambda m: m.head, True, trained=True
    ),
}


def module(name: str) -> Any:
    """The network in evaluation mode, always with the same weights.

    Weights that are not published in a package are random. Then the batch norms take their statistics from
    noise, so that activations keep a usual size and sparsity all the way down.
    """
    network = NETWORKS[name]
    torch.manual_seed(0)
    made = network.make(import_torchvision())
    if not network.trained:
        _settle(made)
    return made.eval()


def _settle(made: nn.Module) -> None:
    norms = [layer for layer in made.modules() if isinstance(layer, nn.BatchNorm2d)]
    if not norms:
        return
    for norm in norms:
        norm.momentum = None  # a plain average over all batches
    with torch.no_grad():
        made.train()
        made(torch.randn(8, 3, 128, 128))


def plain_file(name: str, size: int = SIZE) -> Path:
    """The network as an ONNX file with a fixed input of 1×3×size×size, made once and kept.

    EfficientNet-Lite0 at 224² is the file that the project ships.
    """
    if name == "efficientnet_lite0" and size == SIZE:
        shipped: Path = default_model()
        return shipped
    return exported_file(name, size)


def exported_file(name: str, size: int = SIZE) -> Path:
    """The torch module's own export, with the very same weights."""
    path = RESULTS / "models" / f"{name}-{size}-{_RECIPE}.onnx"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        proto = export_torch(module(name), None, (1, 3, size, size))
        partial = path.with_suffix(".partial")
        partial.write_bytes(proto.SerializeToString())
        os.replace(partial, path)
    return path


def noise_picture(size: int = SIZE) -> np.ndarray[Any, np.dtype[np.float32]]:
    """A normalised picture of noise, 1×3×size×size."""
    return np.random.default_rng(0).standard_normal((1, 3, size, size)).astype(np.float32)


def check_name(name: str) -> str:
    """`name` if it is one of `NETWORKS`.

    Raises:
        ModelError: It is not.
    """
    if name not in NETWORKS:
        raise ModelError(f"no network '{name}'; there are {', '.join(NETWORKS)}")
    return name
