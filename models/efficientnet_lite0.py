"""EfficientNet-Lite0: EfficientNet-B0 without squeeze-and-excitation, ReLU6 instead of swish, at 224²."""

from __future__ import annotations

from fastcam_models.inverted_residual import Classifier, ConvNorm, InvertedResidual, same

EPSILON = 1e-3
"""ε of the batch norms, as in the TensorFlow original."""

STAGES = (
    # blocks, channels, kernel, stride of the first, expansion
    (1, 16, 3, 1, 1),
    (2, 24, 3, 2, 6),
    (2, 40, 5, 2, 6),
    (3, 80, 3, 2, 6),
    (3, 112, 5, 1, 6),
    (4, 192, 5, 2, 6),
    (1, 320, 3, 1, 6),
)


def network() -> Classifier:
    """The network with random weights. Input sizes must be multiples of 32."""
    stem = ConvNorm(3, 32, 3, 2, padding=same(3, 2), epsilon=EPSILON)
    blocks: list[InvertedResidual] = []
    width = 32
    for repeats, channels, kernel, first_stride, ratio in STAGES:
        for stride in (first_stride, *[1] * (repeats - 1)):
            padding = same(kernel, stride)
            blocks.append(
                InvertedResidual(width, channels, kernel, stride, ratio, padding=padding, epsilon=EPSILON)
            )
            width = channels
    return Classifier(stem, blocks, ConvNorm(width, 1280, epsilon=EPSILON))
