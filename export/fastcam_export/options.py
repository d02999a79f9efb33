"""What a user can ask of the graft. The same names serve Python and the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastcam_runtime.contract import CLASS_OUTPUTS, OUTPUTS, RESIZE, Preprocess
from fastcam_runtime.errors import closest

from .errors import GraftError
from .normalize import NORMALIZATIONS
from .statistics import STATISTICS

CAM_METHODS = ("gradcam++", "gradcam")


@dataclass(frozen=True)
class Options:
    """The options of `graft`; see `fastcam export --help` for the same on the command line."""

    outputs: Sequence[str] = ("saliency_map",)
    """Any of `saliency_map`, `scales`, `lovi`, `cam`, `fastcam`, `nonclass`."""
    statistic: str = "smoe"
    normalize: str = "gauss"
    weights: str | Sequence[float] | None = None
    """`prior`, `equal`, `linear` or a list; None takes `prior` for five scales, else `linear`."""
    epsilon: float = 1e-6
    taps: str | Sequence[str] = "auto"
    channel_share: float | Sequence[float] = 1.0
    """How much of the channels is read, for all scales or for each; 0 leaves a scale out. Anything but 1 is
    cheaper and an approximation, and the file says so. `fastcam tune` finds what is worth it."""
    cam: str = "gradcam++"
    cam_epsilon: float = 0.0
    """Added to the denominator of Grad-CAM++ as some code bases do; 0 is the textbook's formula."""
    input_shape: Sequence[int] | None = None
    """N,C,H,W (or N,H,W,C) for dimensions that the model leaves free."""
    labels: Sequence[str] | None = None
    preprocess: str | Preprocess | Mapping[str, Any] | None = None
    resize: str = "stretch"
    inline: bool = False
    """Plain operators instead of functions of the domain `fastcam`, for consumers that know no functions."""

    def __post_init__(self) -> None:
        if isinstance(self.outputs, str):
            object.__setattr__(self, "outputs", tuple(self.outputs.split(",")))
        if not self.outputs:
            raise GraftError(f"no outputs asked for: name some of {', '.join(OUTPUTS)}")
        for name in self.outputs:
            _one_of("output", name, OUTPUTS)
        _one_of("statistic", self.statistic, STATISTICS)
        _one_of("normalisation", self.normalize, NORMALIZATIONS)
        _one_of("class map", self.cam, CAM_METHODS)
        _one_of("resize", self.resize, RESIZE)
        if not 0 < self.epsilon < 1:
            raise GraftError(f"epsilon must be between 0 and 1, not {self.epsilon}")

    @property
    def class_maps(self) -> bool:
        return any(name in CLASS_OUTPUTS for name in self.outputs)


def _one_of(what: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise GraftError(f"no {what} named '{name}'{closest(name, known)}; there are {', '.join(known)}")
