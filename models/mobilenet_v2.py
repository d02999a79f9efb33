"""MobileNetV2 at width 1, as torchvision trained it. ImageNet at 224²."""

from __future__ import annotations

from fastcam_models.inverted_residual import Classifier, ConvNorm, InvertedResidual, symmetric

STAGES = (
    # blocks, channels, stride of the first, expansion; every depthwise kernel is 3×3
    (1, 16, 1, 1),
    (2, 24, 2, 6),
    (3, 32, 2, 6),
    (4, 64, 2, 6),
    (3, 96, 1, 6),
    (3, 160, 2, 6),
    (1, 320, 1, 6),
)


def network() -> Classifier:
    """The network with random weights."""
    stem = ConvNorm(3, 32, 3, 2, padding=symmetric(3))
    blocks: list[InvertedResidual] = []
    width = 32
    for repeats, channels, first_stride, ratio in STAGES:
        for stride in (first_stride, *[1] * (repeats - 1)):
            blocks.append(InvertedResidual(width, channels, 3, stride, ratio, padding=symmetric(3)))
            width = channels
    return Classifier(stem, blocks, ConvNorm(width, 1280))
