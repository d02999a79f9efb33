"""Other packages' maps of the same network and picture, for the predicted class."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from fastcam_export.evaluate.controls import Map
from numpy.typing import NDArray
from torch import nn

from ..inputs.modules import import_torchvision
from . import study_plan


class PeerMaps:
    """The maps of `grad-cam`, `captum` and LaFAM.

    Args:
        make: Builds the network, in evaluation mode; every package gets its own, free of others' hooks.
        layers: The modules whose outputs are the two deepest scales, the deepest last.
    """

    def __init__(
        self, make: Callable[[], nn.Module], layers: Callable[[nn.Module], Sequence[nn.Module]]
    ) -> None:
        import_torchvision()  # grad-cam imports it
        import pytorch_grad_cam as package

        self._cams: dict[str, Any] = {}
        for name in ("LayerCAM", "EigenCAM", "XGradCAM"):
            network = make()
            self._cams[name] = getattr(package, name)(network, [layers(network)[-1]])
        network = make()
        self._two_scales = package.LayerCAM(network, list(layers(network)))
        self._network = make()
        self._last: list[torch.Tensor] = []
        last = layers(self._network)[-1]
        last.register_forward_hook(lambda _module, _inputs, output: self._last.append(output))

    def __call__(self, tensor: NDArray[np.float32]) -> dict[str, Map]:
        """The maps of one picture, C×H×W in the network's values."""
        picture = torch.from_numpy(tensor[None])
        found = {name: np.asarray(cam(picture, targets=None)[0]) for name, cam in self._cams.items()}
        found["LayerCAM of two"] = np.asarray(self._two_scales(picture, targets=None)[0])
        self._last.clear()
        with torch.no_grad():
            target = int(self._network(picture).argmax())
        mean = self._last[-1].mean(1, keepdim=True)
        large = nn.functional.interpolate(mean, tensor.shape[1:], mode="bilinear", align_corners=False)
        found["LaFAM"] = large[0, 0].detach().numpy()
        return found | self._gradients(picture, target)

    def _gradients(self, picture: torch.Tensor, target: int) -> dict[str, Map]:
        from captum import attr

        torch.manual_seed(0)
        spread = study_plan.SMOOTHGRAD_NOISE * float(picture.max() - picture.min())
        saliency = attr.Saliency(self._network)
        calls: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
            "gradient": lambda x: saliency.attribute(x, target=target),
            "SmoothGrad²": lambda x: attr.NoiseTunnel(saliency).attribute(
                x, nt_type="smoothgrad_sq", nt_samples=study_plan.SMOOTHGRAD_SAMPLES,
                nt_samples_batch_size=5, stdevs=spread, target=target,
            ),
            "Integrated Gradients": lambda x: attr.IntegratedGradients(self._network).attribute(
                x, target=target, n_steps=study_plan.IG_STEPS, internal_batch_size=5
            ),
        }  # fmt: skip
        found = {}
        for name, call in calls.items():
            found[name] = attributed(call, picture)
            self._last.clear()
        return found


def attributed(call: Callable[[torch.Tensor], torch.Tensor], picture: torch.Tensor) -> Map:
    """The sum of an attribution's absolute values over the colours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # captum's, about its own hooks
        values = call(picture.clone().requires_grad_())
    return np.asarray(values.detach().abs().sum(1)[0])
