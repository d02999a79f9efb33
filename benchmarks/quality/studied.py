"""The networks of the study: the file, and the torch module with the same weights for other packages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fastcam_export
import torch
from fastcam_export.evaluate.subject import Subject
from fastcam_export.load import load
from fastcam_models import default_model
from torch import nn

from ..inputs.keras_resnet50 import fetch, keras_resnet50
from ..inputs.modules import LAST, module
from ..inputs.preprocessing import CAFFE, IMAGENETTE
from ..paths import SHARED
from .our_maps import OurMaps
from .peer_maps import PeerMaps
from .retraining import imagenette
from .retraining.protocol import SIZE
from .retraining.small_resnet import small_resnet
from .study_plan import LITE0, MOBILENET, NAMES, RESNET, RESNET50

DATA = SHARED / "data"
MODELS = SHARED / "models"
IMAGENET200 = "imagenet200.zip"


@dataclass(frozen=True)
class PlainNetwork:
    """A plain network and its pictures."""

    name: str
    path: Path
    preprocess: dict[str, Any] | None = None
    """None: what the file says."""
    archive: str = IMAGENET200
    inside: str = ""
    """The folder in the archive."""

    def subject(self, folder: Path, threads: int, **options: Any) -> Subject:
        """The network with `saliency_map`, in a file in `folder`; `options` are those of the export."""
        target = folder / f"{self.path.stem}-fastcam.onnx"
        fastcam_export.export(self.path, target, preprocess=self.preprocess, **options)
        return Subject(target, threads)


@dataclass(frozen=True)
class Studied:
    """A network with everything that makes maps of it."""

    network: PlainNetwork
    subject: Subject
    ours: OurMaps
    peers: PeerMaps


def plain_networks(folder: Path, resnet: Path | None, names: Sequence[str] = NAMES) -> Iterator[PlainNetwork]:
    """Those of the plan's networks that `names` has; the small ResNet only where its weights are given.

    Args:
        folder: Where the files of both ResNets are written.
        resnet: The weights of the small one.
        names: Of `study_plan`.
    """
    if LITE0 in names:
        yield PlainNetwork(LITE0, default_model())
    if MOBILENET in names:
        yield PlainNetwork(MOBILENET, MODELS / "mobilenet_v2.onnx")
    if RESNET50 in names:
        path = _written(keras_resnet50(fetch()), 224, folder / "resnet50.onnx")
        yield PlainNetwork(RESNET50, path, CAFFE)
    if RESNET in names and resnet is not None:
        yield resnet_on_imagenette(RESNET, _trained(resnet), folder / "small-resnet.onnx")


def resnet_on_imagenette(name: str, network: nn.Module, path: Path) -> PlainNetwork:
    """A small ResNet, written to `path`, with the validation photos of Imagenette."""
    return PlainNetwork(name, _written(network, SIZE, path), IMAGENETTE, imagenette.ARCHIVE.name, "val/")


def studied_networks(
    folder: Path, resnet: Path | None, threads: int, names: Sequence[str] = NAMES
) -> list[Studied]:
    """The same networks, ready for the study."""
    return [
        Studied(
            network, network.subject(folder, threads), OurMaps(network.path, threads), _peers(network, resnet)
        )
        for network in plain_networks(folder, resnet, names)
    ]


def _peers(network: PlainNetwork, resnet: Path | None) -> PeerMaps:
    """Other packages' maps, of the torch module with the same weights."""

    def lite0_layers(network: nn.Module) -> Sequence[nn.Module]:
        return network.blocks[11].expand, LAST["efficientnet_lite0"](network)

    def mobilenet_layers(network: nn.Module) -> Sequence[nn.Module]:
        return network.features[14].conv[0], LAST["mobilenet_v2"](network)

    if network.name == LITE0:
        return PeerMaps(lambda: module("efficientnet_lite0"), lite0_layers)
    if network.name == MOBILENET:
        return PeerMaps(lambda: module("mobilenet_v2"), mobilenet_layers)
    if network.name == RESNET50:
        return PeerMaps(lambda: keras_resnet50(fetch()), lambda n: (n.layer3, n.layer4))
    assert resnet is not None
    return PeerMaps(lambda: _trained(resnet), lambda n: (n[3], n[4]))


def _written(network: nn.Module, size: int, path: Path) -> Path:
    """`path`, with the network for one picture of size×size."""
    path.write_bytes(load(network, example=torch.zeros(1, 3, size, size)).proto.SerializeToString())
    return path


def _trained(weights: Path) -> nn.Module:
    network = small_resnet(imagenette.CLASSES)
    network.load_state_dict(torch.load(weights, weights_only=True))
    return network.eval()
