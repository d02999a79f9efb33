"""The block of EfficientNet-Lite0 and MobileNetV2: expand, filter per channel, project."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest

import torch
from torch import Tensor, nn

Padding = tuple[int, int, int, int]
"""Zeros on the left, right, top and bottom, as `torch.nn.functional.pad` takes them."""


def symmetric(kernel: int) -> Padding:
    """Half the kernel on every side, for any stride, as in PyTorch."""
    half = kernel // 2
    return (half, half, half, half)


def same(kernel: int, stride: int) -> Padding:
    """TensorFlow's `SAME` for a size divisible by the stride: an odd zero is added right and bottom."""
    total = kernel - stride
    before, after = total // 2, total - total // 2
    return (before, after, before, after)


class ConvNorm(nn.Module):  # type: ignore[misc]
    """Convolution, batch norm and, with `activate`, ReLU6."""

    def __init__(
        self,
        channels_in: int,
        channels_out: int,
        kernel: int = 1,
        stride: int = 1,
        *,
        groups: int = 1,
        padding: Padding = (0, 0, 0, 0),
        epsilon: float = 1e-5,
        activate: bool = True,
    ) -> None:
        super().__init__()
        self.pad = nn.ZeroPad2d(padding) if any(padding) else nn.Identity()
        self.conv = nn.Conv2d(channels_in, channels_out, kernel, stride, groups=groups, bias=False)
        self.norm = nn.BatchNorm2d(channels_out, eps=epsilon)
        self.act = nn.ReLU6() if activate else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return self.act(self.norm(self.conv(self.pad(x))))

    def fold(self) -> None:
        """Fold the batch norm into the convolution, in float64: rounded once, so equal on every machine."""
        norm, conv = self.norm, self.conv
        scale = norm.weight.double() / torch.sqrt(norm.running_var.double() + norm.eps)
        weight = conv.weight.double() * scale[:, None, None, None]
        bias = norm.bias.double() - norm.running_mean.double() * scale
        conv.weight, conv.bias = nn.Parameter(weight.float()), nn.Parameter(bias.float())
        self.norm = nn.Identity()


class InvertedResidual(nn.Module):  # type: ignore[misc]
    """1×1 expansion (not at ratio 1), k×k depthwise, linear 1×1 projection; a shortcut if shapes match."""

    def __init__(
        self,
        channels_in: int,
        channels_out: int,
        kernel: int,
        stride: int,
        ratio: int,
        *,
        padding: Padding,
        epsilon: float = 1e-5,
    ) -> None:
        super().__init__()
        width = channels_in * ratio
        self.expand = ConvNorm(channels_in, width, epsilon=epsilon) if ratio > 1 else None
        self.depthwise = ConvNorm(
            width, width, kernel, stride, groups=width, padding=padding, epsilon=epsilon
        )
        self.project = ConvNorm(width, channels_out, epsilon=epsilon, activate=False)
        self.shortcut = stride == 1 and channels_in == channels_out

    def forward(self, x: Tensor) -> Tensor:
        y = x if self.expand is None else self.expand(x)
        y = self.project(self.depthwise(y))
        return x + y if self.shortcut else y


class Classifier(nn.Module):  # type: ignore[misc]
    """Stem, inverted residuals, a 1×1 head of 1280 channels, the mean over the picture, one linear layer."""

    def __init__(
        self, stem: ConvNorm, blocks: list[InvertedResidual], head: ConvNorm, classes: int = 1000
    ) -> None:
        super().__init__()
        self.stem = stem
        self.blocks = nn.Sequential(*blocks)
        self.head = head
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten()
        self.classifier = nn.Linear(head.conv.out_channels, classes)

    def forward(self, image: Tensor) -> Tensor:
        """Logits, N×classes, of a normalised N×3×224×224 picture."""
        features = self.head(self.blocks(self.stem(image)))
        return self.classifier(self.flatten(self.pool(features)))

    def load(self, checkpoint: Mapping[str, Tensor]) -> None:
        """Load the tensors of `checkpoint` in their order, which is the order of computation, not by name.

        Raises:
            ValueError: A tensor is of another kind (weight, bias, …) than the one at its position here.
            RuntimeError: A tensor has another shape.
        """
        for ours, theirs in zip_longest(self.state_dict(), checkpoint, fillvalue="nothing"):
            if ours.rpartition(".")[2] != theirs.rpartition(".")[2]:
                raise ValueError(f"the checkpoint has {theirs} where the network has {ours}")
        self.load_state_dict(dict(zip(self.state_dict(), checkpoint.values(), strict=True)))

    def fold(self) -> None:
        """Fold every batch norm; the logits stay the same, up to float32 rounding."""
        for module in list(self.modules()):
            if isinstance(module, ConvNorm):
                module.fold()
