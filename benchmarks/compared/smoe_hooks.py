"""SMOE Scale as it is usually added to a torch model: forward hooks, with the maps combined in Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.nn import functional

WEIGHTS = (0.18, 0.15, 0.37, 0.4, 0.72)
TAPS: dict[str, Callable[[Any], Sequence[Any]]] = {
    "resnet50": lambda m: (m.relu, m.layer1, m.layer2, m.layer3, m.layer4),
    "mobilenet_v2": lambda m: (*(m.features[k].conv[0] for k in (2, 4, 7, 14)), m.features[18]),
}
"""By network, the submodules whose outputs end its five scales."""


class HookedSmoe:
    """A torch model that gives its scores and the combined saliency map."""

    def __init__(
        self, module: torch.nn.Module, taps: Sequence[torch.nn.Module], epsilon: float = 1e-6
    ) -> None:
        self._module = module
        self._epsilon = epsilon
        self._maps: list[torch.Tensor] = []
        for tap in taps:
            tap.register_forward_hook(self._hook)

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def __call__(self, picture: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores, and the map N×H×W."""
        self._maps.clear()
        scores = self._module(picture)
        size = picture.shape[-2:]
        total = torch.zeros(picture.shape[0], *size)
        for weight, scale in zip(WEIGHTS, self._maps, strict=True):
            total += weight * functional.interpolate(
                scale[:, None], size=size, mode="bilinear", align_corners=False
            ).squeeze(1)
        return scores, total / sum(WEIGHTS)

    def _hook(self, _: torch.nn.Module, __: Any, x: torch.Tensor) -> None:
        """Compute statistic and normalisation in the hook: later layers may change the tensor in place."""
        y = x + self._epsilon
        mean = y.mean(dim=1)
        s = mean * (torch.log2(mean) - torch.log2(y).mean(dim=1))
        z = (s - s.mean(dim=(1, 2), keepdim=True)) / s.std(dim=(1, 2), keepdim=True)
        self._maps.append(0.5 * (1 + torch.erf(z / 2**0.5)))
