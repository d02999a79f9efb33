"""Normalisation of a map to 0…1: per image, over all its pixels, before any upsampling."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fastcam_runtime.errors import FastcamError, closest

from ...authoring.ops import Step
from ...choices import NORMALIZATIONS
from ._gamma import gamma
from ._gauss import gauss
from ._range import range_

__all__ = ["normalize"]

_BUILDERS: Mapping[str, Callable[..., Step]] = {"gauss": gauss, "gamma": gamma, "range": range_}


def normalize(name: str, *, opset: int, height: int | None, width: int | None) -> Step:
    """The step from a map S, float32 [N,h,w], to M of the same shape in 0…1; h and w are None where free.

    A constant map, also one of a single pixel, gives a constant: ½ for gauss, near ½ for gamma, 0 for range.
    """
    if name not in _BUILDERS:
        raise FastcamError(f"no normalisation named '{name}'{closest(name, NORMALIZATIONS)}")
    return _BUILDERS[name](opset=opset, height=height, width=width)
