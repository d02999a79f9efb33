"""The number of operations of the maps, counted as in the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

NORM_PER_PIXEL = 12
FIRST_COMBINE, FURTHER_COMBINE = 4.5, 6.75
"""Operations per pixel of the picture to upsample a scale's map and to add it; the first is not added."""


@dataclass(frozen=True)
class ScaleFlops:
    """The operations of one scale; a logarithm or an error function counts as one."""

    smoe: int
    norm: int
    combine: int

    @property
    def total(self) -> int:
        return self.smoe + self.norm + self.combine


def count_flops(scales: Sequence[tuple[int, int, int]], picture: tuple[int, int]) -> list[ScaleFlops]:
    """The operations of each scale: H·W·(4C+1) for SMOE, 12·H·W to normalise, and the combination.

    `scales` are channels, height and width of each, shallow to deep; `picture` is height and width of the
    input.
    """
    size = picture[0] * picture[1]
    found = []
    for number, (channels, height, width) in enumerate(scales):
        pixels = height * width
        combine = FIRST_COMBINE if number == 0 else FURTHER_COMBINE
        found.append(ScaleFlops(pixels * (4 * channels + 1), NORM_PER_PIXEL * pixels, round(combine * size)))
    return found
