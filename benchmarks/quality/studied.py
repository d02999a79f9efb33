"""The networks of the study: the file, and the torch module with the same weights for other packages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fastcam_export
import torch
from fastcam_export.evaluate.subject import Subject
from fastcam_export.load import load
from fastcam_models import default_model
from torch import nn

from ..inputs.modules import LAST, module
from ..paths import SHARED
from .our_maps import OurMaps
from .peer_maps import PeerMaps
from .retraining.five_scales import five_scales
from .retraining.protocol import SIZE

DATA = SHARED / "data"
IMAGENETTE = (0.4593, 0.4555, 0.4284), (0.2743, 0.271, 0.2943)
"""Mean and deviation of Imagenette's training photos at 64×64, RGB, 0…1."""


@dataclass(frozen=True)
class Studied:
    """A network with everything that makes maps of it."""

    name: str
    subject: Subject
    ours: OurMaps
    peers: PeerMaps
    archive: str
    inside: str
    """The folder in the archive."""


def studied_networks(folder: Path, resnet: Path | None, threads: int) -> list[Studied]:
    """The networks of the plan; the small ResNet only where its weights are given."""
    found = [_efficientnet(folder, threads), _mobilenet(folder, threads)]
    return found if resnet is None else [*found, _small_resnet(folder, resnet, threads)]


def _efficientnet(folder: Path, threads: int) -> Studied:
    def layers(network: nn.Module) -> Sequence[nn.Module]:
        return network.blocks[11].expand, LAST["efficientnet_lite0"](network)

    return _studied("EfficientNet-Lite0", default_model(), folder, threads,
                    PeerMaps(lambda: module("efficientnet_lite0"), layers))  # fmt: skip


def _mobilenet(folder: Path, threads: int) -> Studied:
    def layers(network: nn.Module) -> Sequence[nn.Module]:
        return network.features[14].conv[0], LAST["mobilenet_v2"](network)

    path = DATA.parent / "models" / "mobilenet_v2.onnx"
    return _studied("MobileNetV2", path, folder, threads, PeerMaps(lambda: module("mobilenet_v2"), layers))


def _small_resnet(folder: Path, weights: Path, threads: int) -> Studied:
    def make() -> nn.Module:
        network = five_scales(10)
        network.load_state_dict(torch.load(weights, weights_only=True))
        return network.eval()

    path = folder / "small-resnet.onnx"
    example = torch.zeros(1, 3, SIZE, SIZE)
    path.write_bytes(load(make(), example=example).proto.SerializeToString())
    mean, std = IMAGENETTE
    preprocess = {"order": "RGB", "mean": [255 * x for x in mean], "std": [255 * x for x in std]}
    return _studied("small ResNet", path, folder, threads, PeerMaps(make, lambda n: (n[3], n[4])),
                    preprocess, "imagenette64.zip", "val/")  # fmt: skip


def _studied(
    name: str, path: Path, folder: Path, threads: int, peers: PeerMaps,
    preprocess: dict[str, Any] | None = None, archive: str = "imagenet200.zip", inside: str = "",
) -> Studied:  # fmt: skip
    target = folder / f"{path.stem}-fastcam.onnx"
    fastcam_export.export(path, target, preprocess=preprocess)
    return Studied(name, Subject(target, threads), OurMaps(path, threads), peers, archive, inside)
