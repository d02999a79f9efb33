"""The plan of a graft: the picture's input, the scores, and the taps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import onnx_ir as ir
from fastcam_runtime.classes import are_class_scores, class_count
from fastcam_runtime.model.feeds import is_companion

from ..choices import OF_SPREAD
from ..detect.find import Detector, Network, find_detector, may_be_detector
from ..detect.outputs import NoHeadError
from ..load import LoadedModel
from ..load.view import view
from ..metadata.labels import NAMES_KEY, parse_names
from ..metadata.stated_size import StatedSize, stated_size
from ..method.bilinear import FreeSize
from ..options import Options
from .candidates import candidates
from .ends import DEFAULT_SIZE, Ends, find_ends, other_scores
from .geometry import TensorGeometry, cut_size, geometries
from .scores import find_logits, holds_no_numbers, scores_of_one
from .shapes import Shapes, concrete_shapes, lasting_shapes
from .taps import Tap, find_taps, named_taps, uninformative_tensors
from .values import Dims, known_dims


@dataclass(frozen=True)
class Plan:
    """What the analysis of a model found."""

    model: ir.Model
    ends: Ends
    taps: list[Tap]
    shapes: Mapping[str, Dims]
    """The shapes on the picture's path by tensor name; None for dimensions that depend on the picture."""
    logits: ir.Value
    """The logits behind the scores, or the scores themselves."""
    scores_are: str
    """`logits` or `probabilities`."""
    scores_shape: Dims | None
    """The shape of one picture's scores, see `scores_of_one`."""
    notes: tuple[str, ...] = ()
    """Notes for the user about this network."""
    detector: Detector | NoHeadError | None = None
    """The detector's head; or the reason why none was recognised; None for a network that cannot be one."""

    @property
    def has_classes(self) -> bool:
        """Whether the scores are numbers, one per class. True if their shape is unknown."""
        shape = self.scores_shape
        return not holds_no_numbers(self.ends.scores) and (shape is None or are_class_scores(shape))

    @property
    def classes(self) -> int | None:
        """How many classes there are; None where there are none, or nothing is known of the scores."""
        return class_count((None, *self.scores_shape)) if self.scores_shape is not None else None

    def fixed_size(self, tap: Tap) -> FreeSize:
        """Height and width of a tap; None if the picture's are free."""
        return _fixed_size(self.ends, tap)


def plan(source: LoadedModel, options: Options) -> Plan:
    """Find the image input, the scores and the taps of a loaded model.

    Raises:
        LoadError: Its graph cannot be read.
        GraftError: The model takes no picture, has no usable scale, or a named tap is unknown.
    """
    model = view(source)
    stated = stated_size(source.metadata, source.path)
    size = (stated.height, stated.width) if stated is not None else (DEFAULT_SIZE, DEFAULT_SIZE)
    ends = find_ends(model, options.input_shape, options.scores, size)
    shapes = concrete_shapes(model, ends, source.folder)
    geometry = geometries(ends, shapes)
    least = 2 if options.needs_scales and options.statistic in OF_SPREAD else 1
    unused: list[str] = []
    found = candidates(ends, shapes, geometry)
    if options.taps == "auto":
        taps = find_taps(found, ends, geometry, least)
        unused = uninformative_tensors(found, least)
    else:
        taps = named_taps(model, options.taps, ends, found, least)
    lasting = lasting_shapes(model, shapes)
    for tap in taps:
        if None in lasting[tap.name]:
            lasting[tap.name] = _lasting_dims(ends, tap)
    logits, scores_are = find_logits(ends.scores)
    notes = tuple(_notes(model, ends, geometry, options, stated))
    if unused:
        listed = ", ".join(unused[:3]) + ("…" if len(unused) > 3 else "")
        notes += (f"not used as scales: {listed}: a single channel, or an output of the network",)
    detector = _detector(source, model, ends, shapes, options)
    shape = scores_of_one(model, ends, shapes)
    return Plan(model, ends, taps, lasting, logits, scores_are, shape, notes, detector)


def _detector(
    source: LoadedModel, model: ir.Model, ends: Ends, shapes: Shapes, options: Options
) -> Detector | NoHeadError | None:
    if options.head is None and not may_be_detector(model, ends):
        return None
    own = source.metadata
    labels = len(options.labels or parse_names(own.get(NAMES_KEY, ""))) or None
    return find_detector(Network(model, ends, shapes, source.folder, own), options.head, labels)


def _fixed_size(ends: Ends, tap: Tap) -> FreeSize:
    free = ends.free_size
    return (None if free[0] is None else tap.shape[2], None if free[1] is None else tap.shape[3])


def _lasting_dims(ends: Ends, tap: Tap) -> Dims:
    """The dimensions of a tap that hold for pictures of any size."""
    height, width = _fixed_size(ends, tap)
    sizes = {"N": None, "C": tap.shape[1], "H": height, "W": width}
    return tuple(sizes[axis] for axis in tap.layout)


def _notes(
    model: ir.Model,
    ends: Ends,
    geometry: Mapping[str, TensorGeometry],
    options: Options,
    stated: StatedSize | None,
) -> Iterator[str]:
    height, width = ends.size
    if options.input_shape is None and None in ends.free_size:
        yield (
            f"the network's input size is free: frames are resized to {height}×{width}, "
            f"{f'from {stated.where}' if stated is not None else 'assumed: nothing in the file says'}; "
            f"set another size with --input-shape {','.join(ends.layout)}"
        )
    cut = cut_size(ends, geometry)
    if cut is not None:
        yield f"the network crops its input to {cut[0]}×{cut[1]}: maps of the crop cover the whole picture"
    others = [
        f"'{v.name}'"
        for v in model.graph.inputs
        if not (v is ends.image or v.is_initializer() or is_companion(v.name, known_dims(v) or ()))
    ]
    if others:
        yield (
            f"fastcam run cannot feed {', '.join(others)}: it feeds only the picture; "
            "run the file in a program of your own"
        )
    scores = other_scores(model, ends) if options.scores is None else []
    if scores:
        listed = ", ".join(scores)
        yield f"'{ends.scores.name}' is used as the class scores; choose another with --scores: {listed}"
