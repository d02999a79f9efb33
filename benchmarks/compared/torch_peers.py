"""The explainers that need torch, each as one call from a picture to a class and a map."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from ..inputs.modules import LAST, module, with_plain_relus
from .smoe_hooks import TAPS, HookedSmoe

NO_MAP = "no map"
IG_STEPS = 50
IG_BATCH = 10
"""Batch size: the same work as all fifty steps at once, with less memory."""

Explain = Callable[[torch.Tensor], Any]


@dataclass(frozen=True)
class Peer:
    """A method of a package: `explain` takes a picture and returns the map."""

    package: str
    method: str
    computed_at: str
    """Where the map's detail comes from: all `scales`, the `last` feature map, the input's `pixels`."""
    make: Callable[[str], Explain]
    """Takes the network's name and builds a separate module, so that no other method's hooks run in it."""


def _grad_cam(method: str) -> Callable[[str], Explain]:
    def make(name: str) -> Explain:
        import pytorch_grad_cam

        network = module(name)
        cam = getattr(pytorch_grad_cam, method)(network, [LAST[name](network)])
        return lambda picture: cam(picture, targets=None)

    return make


def _torchcam(method: str) -> Callable[[str], Explain]:
    def make(name: str) -> Explain:
        from torchcam import methods

        network = module(name)
        extractor = getattr(methods, method)(network, LAST[name](network))

        def explain(picture: torch.Tensor) -> Any:
            scores = network(picture)
            return extractor(int(scores.argmax()), scores)[0]

        return explain

    return make


def _captum(method: str, **options: Any) -> Callable[[str], Explain]:
    def make(name: str) -> Explain:
        from captum import attr

        network = with_plain_relus(module(name))
        attribution = getattr(attr, method)(network)

        def explain(picture: torch.Tensor) -> Any:
            with torch.no_grad():
                target = int(network(picture).argmax())
            picture = picture.clone().requires_grad_()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # captum's, about its own hooks
                return attribution.attribute(picture, target=target, **options)

        return explain

    return make


def _plain(name: str) -> Explain:
    network = module(name)

    def explain(picture: torch.Tensor) -> Any:
        with torch.no_grad():
            return network(picture)

    return explain


def hooked_smoe(name: str) -> Explain:
    """The combined map by torch hooks."""
    network = module(name)
    hooked = HookedSmoe(network, TAPS[name](network))
    return lambda picture: hooked(picture)[1]


PEERS = (
    Peer("torch", NO_MAP, "", _plain),
    Peer("torch", "SMOE by hooks", "scales", hooked_smoe),
    Peer("grad-cam", "Grad-CAM", "last", _grad_cam("GradCAM")),
    Peer("grad-cam", "Grad-CAM++", "last", _grad_cam("GradCAMPlusPlus")),
    Peer("grad-cam", "EigenCAM", "last", _grad_cam("EigenCAM")),
    Peer("torchcam", "Grad-CAM", "last", _torchcam("GradCAM")),
    Peer("torchcam", "Grad-CAM++", "last", _torchcam("GradCAMpp")),
    Peer("torchcam", "Layer-CAM", "last", _torchcam("LayerCAM")),
    Peer("captum", "Saliency", "pixels", _captum("Saliency")),
    Peer("captum", "Guided Backprop", "pixels", _captum("GuidedBackprop")),
    Peer(
        "captum", f"Integrated Gradients ({IG_STEPS} steps)", "pixels",
        _captum("IntegratedGradients", n_steps=IG_STEPS, internal_batch_size=IG_BATCH),
    ),
)  # fmt: skip
