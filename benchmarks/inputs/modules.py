"""The networks as torch modules, always with the same weights, and as plain ONNX files in a cache."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from fastcam_export.load.torch_module import export_torch
from fastcam_models import build, default_model
from torch import nn

from ..paths import RESULTS
from .networks import SIZE

_RECIPE = 1
"""Part of the cached files' names: increase it when a network is built in another way."""


def import_torchvision() -> ModuleType:
    """torchvision, even if it was compiled for another torch: its networks are plain Python.

    The compiled operators of the published wheel need the CUDA build of torch. If they do not load, the
    import fails at two operators of the detection models; declaring their schemas is enough.
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


LAST: dict[str, Callable[[Any], Any]] = {
    "resnet18": lambda m: m.layer4[-1],
    "resnet50": lambda m: m.layer4[-1],
    "vgg16": lambda m: m.features[29],
    "densenet121": lambda m: m.last,
    "mobilenet_v2": lambda m: m.features[-1],
    "mobilenet_v3_small": lambda m: m.features[-1],
    "squeezenet1_1": lambda m: m.classifier[2],
    "efficientnet_lite0": lambda m: m.head,
}
"""The submodule whose output is the last tap: the target layer of other packages."""


def module(name: str) -> Any:
    """The network in evaluation mode.

    Weights that no package publishes are random. The batch norms then get their statistics from noise, so
    that activations have the usual magnitude and sparsity in all layers.
    """
    torch.manual_seed(0)
    models = import_torchvision().models
    if name == "efficientnet_lite0":
        made = build.load(build.RECIPES["efficientnet-lite0"])
    elif name == "mobilenet_v2":
        made = models.mobilenet_v2()
        checkpoint = build.checkpoint_path(build.RECIPES["mobilenet_v2"])
        made.load_state_dict(torch.load(checkpoint, map_location="cpu", weights_only=True))
    elif name == "densenet121":
        made = _settled(_DenseNet(models.densenet121()))
    else:
        made = _settled(getattr(models, name)())
    return made.eval()


def with_plain_relus(network: nn.Module) -> nn.Module:
    """Change the network in place so that captum's Guided Backprop finds its rectifiers; returns it.

    captum hooks ReLU, but neither ReLU6 nor what works in place. The function stays the same.
    """
    for name, part in network.named_children():
        if isinstance(part, nn.ReLU6):
            setattr(network, name, nn.Sequential(nn.ReLU(), nn.Hardtanh(0, 6)))
        else:
            with_plain_relus(part)
    if hasattr(network, "inplace"):
        network.inplace = False
    return network


def _settled(made: nn.Module) -> nn.Module:
    """The module with batch norm statistics from noise."""
    norms = [layer for layer in made.modules() if isinstance(layer, nn.BatchNorm2d)]
    for norm in norms:
        norm.momentum = None  # a plain average over all batches
    if norms:
        with torch.no_grad():
            made.train()(torch.randn(8, 3, 128, 128))
    return made


def plain_file(name: str, size: int = SIZE) -> Path:
    """The network as an ONNX file for pictures of size×size.

    EfficientNet-Lite0 at 224² is the file that the project ships; the others are made once and kept.
    """
    if name == "efficientnet_lite0" and size == SIZE:
        shipped: Path = default_model()
        return shipped
    return exported_file(name, size)


def exported_file(name: str, size: int = SIZE) -> Path:
    """The torch module's own export, with the very same weights; the input is fixed to 1×3×size×size."""
    path = RESULTS / "models" / f"{name}-{size}-{_RECIPE}.onnx"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        proto = export_torch(module(name), None, (1, 3, size, size))
        partial = path.with_suffix(".partial")
        partial.write_bytes(proto.SerializeToString())
        os.replace(partial, path)
    return path
