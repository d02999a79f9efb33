"""The network of the retraining experiments: a small ResNet that can be split after each scale."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import nn

from .protocol import WIDTHS


def small_resnet(classes: int, widths: Sequence[int] = WIDTHS) -> nn.Sequential:
    """A scale per width, each half the size of the one before, and a linear head; `behind` splits it."""
    scales: list[nn.Module] = [_plain(3, widths[0], 1), _plain(widths[0], widths[1], 2)]
    scales += [_Residual(before, after) for before, after in pairwise(widths[1:])]
    head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(widths[-1], classes))
    return nn.Sequential(*scales, head)


def up_to(network: nn.Sequential, scale: int) -> nn.Sequential:
    """The part that ends with `scale`, counted from 1."""
    return network[:scale]


def behind(network: nn.Sequential, scale: int) -> nn.Sequential:
    """The part that takes the activations of `scale`."""
    return network[scale:]


def _plain(before: int, after: int, stride: int) -> nn.Sequential:
    convolution = nn.Conv2d(before, after, 3, stride, 1, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(after), nn.ReLU())


class _Residual(nn.Module):  # type: ignore[misc]
    """Two convolutions with a shortcut; halves the size."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            _plain(before, after, 2), nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after)
        )
        self.shortcut = nn.Sequential(nn.Conv2d(before, after, 1, 2, bias=False), nn.BatchNorm2d(after))
        self.relu = nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.relu(self.body(x) + self.shortcut(x))
