"""The options of the graft. The command line takes its names and defaults from here."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Real
from pathlib import Path
from typing import Any

from fastcam_runtime.contract import CLASS_OUTPUTS, OUTPUTS, RESIZE, Preprocess, words_of
from fastcam_runtime.errors import closest

from .choices import (
    CAM_METHODS,
    CLASS_INPUTS,
    COMPILED,
    MAP_OUTPUTS,
    NORMALIZATIONS,
    PAPER,
    PAPER_CAM,
    STATISTICS,
    WEAK,
    WITH_EPSILON,
)  # fmt: skip
from .deploy.frame_size import parse_frame
from .deploy.targets import TARGETS
from .detect.head_option import read_head
from .errors import GraftError
from .metadata.labels import class_names, excess, read_labels

SMALLEST_FLOAT32 = 1.2e-38
"""The smallest normal float32, rounded up."""
COMBINED_OUTPUTS = ("saliency_map", "fastcam", "nonclass")
"""Outputs that read the combined map."""
SCALE_OUTPUTS = (*COMBINED_OUTPUTS, "scales", "lovi")
"""Outputs that read the scales' maps."""


@dataclass(frozen=True)
class Options:
    """The options of `graft` and `export`. `fastcam export` has the same ones.

    Lists may also be strings with commas: `outputs="saliency_map,cam"`.
    """

    outputs: Sequence[str] = ("saliency_map",)
    """Any of `saliency_map`, `scales`, `lovi`, `cam`, `fastcam`, `nonclass`, or `all`."""
    statistic: str = "smoe"
    normalize: str = "gauss"
    weights: str | Sequence[float] | None = None
    """`prior`, `equal`, `linear` or a list; None takes `prior` for five scales, else `linear`."""
    epsilon: float = 1e-6
    taps: str | Sequence[str] = "auto"
    channel_share: float | Sequence[float] = 1.0
    """The share of the channels that is read, one number for all scales or one per scale; 0 leaves a scale
    out. Below 1 the maps are a cheaper approximation, and the file says so. See `fastcam tune`."""
    cam: str | None = None
    """`gradcam`, `gradcam++` or `layercam`; None takes the first, and for a detector its score grid."""
    cam_epsilon: float = 0.0
    """Added to the denominator of Grad-CAM++, as some implementations do; 0 is the formula of the paper."""
    class_input: str = "optional"
    """Whether `saliency_class` has a default. Some runtimes, such as those for JavaScript, do not support
    optional inputs. For them it must be `required`; feed −1 for the class with the highest score."""
    input_shape: Sequence[int] | None = None
    """N,C,H,W (or N,H,W,C) for dimensions that the model leaves free."""
    scores: str | None = None
    """The output with the class scores; None takes the first with the shape of class scores."""
    labels: Sequence[str] | None = None
    """The class names, or the path of a file with them."""
    preprocess: str | Preprocess | Mapping[str, Any] | None = None
    resize: str | None = None
    """`stretch`, `crop` or `letterbox`; None takes what a detector's family needs, else `stretch`."""
    head: str | Mapping[str, Any] | None = None
    """A detector's head: `auto`, `none`, the name of a family, or fields of `Head` that replace what was
    recognised."""
    inline: bool = False
    """Standard operators instead of `fastcam` functions, for runtimes without ONNX functions."""
    target: str | None = None
    """Only operators of the published list of one of `TARGETS`; implies `inline` and a required class."""
    frame_input: str | None = None
    """`HEIGHTxWIDTH` or `HEIGHTxWIDTHxRGBA`: the file takes the camera's uint8 frame and prepares it."""
    map_output: str | None = None
    """`uint8` or `rgba`: one more output with the combined map as bytes, or as a finished overlay layer."""
    paper: bool = False
    """Exactly the choices of the paper, see `PAPER`; other values of these options are then an error."""
    prepared: bool = False
    """Optimised for the compiled kernels, this release of onnxruntime and this kind of processor: the
    cheapest form and the fastest to load. The file runs nowhere else."""

    def __post_init__(self) -> None:
        if self.paper:
            self._take_paper()
        for name, read in _READ.items():
            object.__setattr__(self, name, read(getattr(self, name)))
        _one_of("statistic", self.statistic, STATISTICS)
        _one_of("normalisation", self.normalize, NORMALIZATIONS)
        if self.cam is not None:
            _one_of("class map", self.cam, CAM_METHODS)
        _one_of("kind of class input", self.class_input, CLASS_INPUTS)
        if self.resize is not None:
            _one_of("resize", self.resize, RESIZE)
        if self.map_output is not None:
            _one_of("map output", self.map_output, MAP_OUTPUTS)
        if self.frame_input is not None:
            parse_frame(self.frame_input)
        if self.target is not None:
            _one_of("target", self.target, tuple(TARGETS))
            object.__setattr__(self, "inline", True)
            if self.needs_class_maps:
                object.__setattr__(self, "class_input", "required")
        if self.prepared and self.frame_input is not None:
            raise GraftError(
                "prepared and frame_input exclude each other: a prepared file is for the runtime"
            )
        if self.inline and self.prepared:
            raise GraftError(
                "inline and prepared exclude each other: a prepared file is for compiled kernels"
            )
        if self.prepared and self.statistic != COMPILED:
            raise GraftError(f"only the statistic {COMPILED} can be prepared, not {self.statistic}")

    def _take_paper(self) -> None:
        for name, value in PAPER.items():
            given = getattr(self, name)
            if given not in (_DEFAULTS[name], value):
                raise GraftError(f"paper takes {name} {value}, not {given}; leave one of the two out")
            object.__setattr__(self, name, value)

    @property
    def needs_class_maps(self) -> bool:
        return any(name in CLASS_OUTPUTS for name in self.outputs)

    @property
    def needs_scales(self) -> bool:
        """Whether an output reads the maps of the scales."""
        return any(name in SCALE_OUTPUTS for name in self.outputs)

    @property
    def notes(self) -> tuple[str, ...]:
        """Options that were given but have no effect, and choices that are known to be poor."""
        idle = tuple(
            f"{name} {getattr(self, name)} has no effect: {reason}"
            for name, reason in self._idle().items()
            if getattr(self, name) not in (_DEFAULTS[name], PAPER.get(name) if self.paper else None)
        )
        if self.needs_scales and self.statistic in WEAK:
            return (*idle, f"{self.statistic} gives clearly worse maps than smoe (docs/quality.md)")
        return idle

    def _idle(self) -> dict[str, str]:
        """The options that have no effect in combination with the others, each with the reason."""
        idle: dict[str, str] = {}
        if self.cam != PAPER_CAM:
            idle["cam_epsilon"] = f"it belongs to {PAPER_CAM}"
        if self.statistic not in WITH_EPSILON:
            idle["epsilon"] = f"{self.statistic} has none"
        for names, outputs in (
            (("cam", "cam_epsilon", "class_input"), CLASS_OUTPUTS),
            (("weights",), COMBINED_OUTPUTS),
            (("statistic", "normalize", "epsilon", "channel_share"), SCALE_OUTPUTS),
        ):
            if not set(outputs) & set(self.outputs):
                reason = f"none of {', '.join(outputs)} is among the outputs"
                idle |= dict.fromkeys(names, reason)
        return idle


def _one_of(what: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise GraftError(f"no {what} named '{name}'{closest(str(name), known)}; there are {', '.join(known)}")


def _split(given: Any) -> tuple[Any, ...]:
    """The words of a string with commas, stripped; anything else as a tuple."""
    if isinstance(given, str):
        return tuple(word.strip() for word in given.split(",")) if given.strip() else ()
    if given is not None and not isinstance(given, Iterable):
        raise GraftError(f"expected names, as a list or a text with commas, not {given!r}")
    return tuple(given or ())


def _outputs(given: Any) -> tuple[str, ...]:
    if given == "all":
        return OUTPUTS
    words = words_of(_split(given))
    if not words:
        raise GraftError(f"no outputs requested: name some of {', '.join(OUTPUTS)}")
    for word in words:
        _one_of("output", word, OUTPUTS)
    return words


def _taps(given: Any) -> str | tuple[str, ...]:
    if given == "auto":
        return "auto"
    names = _split(given)
    if not names:
        raise GraftError("taps is empty: name tensors, shallow to deep, or auto")
    for name in names:
        if names.count(name) > 1:
            raise GraftError(f"taps: '{name}' is named twice")
    return names


def _epsilon(given: Any) -> float:
    if not isinstance(given, Real) or not 0 < float(given) < 1:
        raise GraftError(f"epsilon must be a number between 0 and 1, not {given!r}")
    if float(given) < SMALLEST_FLOAT32:
        raise GraftError(f"epsilon {given!r} is too small for float32: {SMALLEST_FLOAT32} is the least")
    return float(given)


def _cam_epsilon(given: Any) -> float:
    if not isinstance(given, Real) or not 0 <= float(given) < math.inf:
        raise GraftError(f"cam_epsilon must be a number, 0 or more, not {given!r}")
    return float(given)


def _channel_share(given: Any) -> float | tuple[float, ...]:
    if isinstance(given, Real):
        return float(given)
    if isinstance(given, Iterable) and not isinstance(given, Mapping):
        shares = tuple(given)
        if all(isinstance(share, Real) for share in shares):
            return tuple(map(float, shares))
    raise GraftError(f"channel_share must be a number, or a list of one per scale, not {given!r}")


def _labels(given: Any) -> tuple[str, ...] | None:
    if given is None:
        return None
    if isinstance(given, str | os.PathLike):
        return _bounded(read_labels(Path(given)))
    try:
        names = class_names(given)
    except (TypeError, ValueError, OverflowError):
        raise GraftError(f"labels: the keys of {given!r} are not the indices 0, 1, 2…") from None
    if names is None:
        raise GraftError(f"labels must be a file, a list of names or a mapping of indices, not {given!r}")
    return _bounded(names)


def _bounded(labels: tuple[str, ...]) -> tuple[str, ...]:
    if (large := excess(labels)) != "":
        raise GraftError(f"labels: {large}")
    return labels


def _input_shape(given: Any) -> tuple[int, ...] | None:
    if given is None:
        return None
    try:
        text = isinstance(given, str)
        shape = tuple(map(int, given.replace("x", ",").split(",")) if text else map(operator.index, given))
    except (TypeError, ValueError):
        raise GraftError(f"input shape {given}: four whole numbers are needed, such as 1,3,224,224") from None
    if len(shape) != 4 or any(side < 1 for side in shape):
        listed = ",".join(map(str, shape))
        raise GraftError(f"input shape {listed}: four positive numbers are needed, N,C,H,W or N,H,W,C")
    return shape


_READ = {
    "outputs": _outputs,
    "taps": _taps,
    "epsilon": _epsilon,
    "cam_epsilon": _cam_epsilon,
    "channel_share": _channel_share,
    "labels": _labels,
    "input_shape": _input_shape,
    "head": read_head,
}

_DEFAULTS = {field.name: field.default for field in fields(Options)}
