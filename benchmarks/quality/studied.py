"""The networks of the study: the file, and the torch module with the same weights for other packages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
from . import study_plan
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
    most: int = study_plan.PICTURES
    """Pictures of the plan."""

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
        yield PlainNetwork(RESNET50, path, CAFFE, most=study_plan.RESNET50_PICTURES)
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


def torch_module(network: PlainNetwork, resnet: Path | None) -> nn.Module:
    """The network's weights as a new torch module, in evaluation mode."""
    if network.name == RESNET50:
        return keras_resnet50(fetch())
    if network.name == RESNET:
        assert resnet is not None
        return _trained(resnet)
    made: nn.Module = module({LITE0: "efficientnet_lite0", MOBILENET: "mobilenet_v2"}[network.name])
    return made


def _peers(network: PlainNetwork, resnet: Path | None) -> PeerMaps:
    """Other packages' maps, of the torch module with the same weights."""
    return PeerMaps(lambda: torch_module(network, resnet), _DEEPEST[network.name])


def deepest(name: str, module: nn.Module) -> Sequence[nn.Module]:
    """The parts of a studied network whose outputs are its two deepest scales, the deepest last."""
    return _DEEPEST[name](module)


def _written(network: nn.Module, size: int, path: Path) -> Path:
    """`path`, with the network for one picture of size×size."""
    path.write_bytes(load(network, example=torch.zeros(1, 3, size, size)).proto.SerializeToString())
    return path


def _trained(weights: Path) -> nn.Module:
    network = small_resnet(imagenette.CLASSES)
    network.load_state_dict(torch.load(weights, weights_only=True))
    return network.eval()


_DEEPEST: dict[str, Callable[[Any], Sequence[nn.Module]]] = {
    LITE0: lambda m: (m.blocks[11].expand, LAST["efficientnet_lite0"](m)),
    MOBILENET: lambda m: (m.features[14].conv[0], LAST["mobilenet_v2"](m)),
    RESNET50: lambda m: (m.layer3, m.layer4),
    RESNET: lambda m: (m[3], m[4]),
}
"""The modules whose outputs are the two deepest scales."""
