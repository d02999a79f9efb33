"""The options of `graft` and `export` as keywords: a type checker finds a misspelt one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, TypedDict

from fastcam_runtime.contract import Preprocess


class GraftOptions(TypedDict, total=False):
    """The fields of `Options`, which explains them, in every form that it accepts."""

    outputs: str | Sequence[str]
    statistic: str
    normalize: str
    weights: str | Sequence[float] | None
    epsilon: float
    taps: str | Sequence[str]
    channel_share: float | Sequence[float]
    cam: str
    cam_epsilon: float
    class_input: str
    input_shape: str | Sequence[int] | None
    scores: str | None
    labels: str | PathLike[str] | Sequence[str] | Mapping[int, str] | None
    preprocess: str | Preprocess | Mapping[str, Any] | None
    resize: str | None
    head: str | Mapping[str, Any] | None
    inline: bool
    target: str | None
    frame_input: str | None
    map_output: str | None
    paper: bool
    prepared: bool
