"""The ends of a classifier: the input that takes the picture, and the output with the scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import onnx_ir as ir
from fastcam_runtime.contract import ImageInput
from fastcam_runtime.errors import closest
from fastcam_runtime.limits import check_picture

from ..errors import GraftError
from .dominators import data_path
from .operators import facts
from .scores import ends_in_probabilities, holds_no_numbers
from .values import Dims, known_dims

DEFAULT_SIZE = 224
"""The assumed height and width where the model leaves them free and the user gives none."""
TO_NCHW = [0, 3, 1, 2]
"""The `perm` of a Transpose from N×H×W×C."""

PICTURE_TYPES = (ir.DataType.FLOAT, ir.DataType.FLOAT16, ir.DataType.UINT8, ir.DataType.DOUBLE)


@dataclass(frozen=True)
class Ends:
    """The picture's input, the scores, and the path between them."""

    image: ir.Value
    layout: str
    """`NCHW` or `NHWC`."""
    shape: tuple[int, int, int, int]
    """The concrete input shape that the analysis works with, in the input's own layout."""
    scores: ir.Value
    path: list[ir.Node]
    """The nodes that carry the picture to the scores."""

    @property
    def channels(self) -> int:
        return self.shape[1 if self.layout == "NCHW" else 3]

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of the picture."""
        return self.shape[2:] if self.layout == "NCHW" else self.shape[1:3]

    @property
    def image_input(self) -> ImageInput:
        """The picture's input as the metadata describe it."""
        return ImageInput(self.image.name or "", self.layout, self.channels, *self.size)

    @property
    def free_size(self) -> tuple[int | None, int | None]:
        """Height and width where the model fixes them, None where they are free."""
        dims = known_dims(self.image) or (None,) * 4
        height, width = dims[2:] if self.layout == "NCHW" else dims[1:3]
        return height, width


def find_ends(
    model: ir.Model,
    input_shape: Sequence[int] | None = None,
    scores_name: str | None = None,
    size: tuple[int, int] = (DEFAULT_SIZE, DEFAULT_SIZE),
) -> Ends:
    """Find the picture's input and the scores.

    The picture is the first input of rank 4 that reaches an output. The scores are the output `scores_name`,
    else the best output that the picture reaches: shape N×classes (or N×classes×1×1) before others, a known
    number of classes before a free one, a Softmax or Sigmoid before a plain output (perhaps a regression),
    then the first. `size` is the height and width where the model leaves them free.

    Raises:
        GraftError: No input takes a picture, `input_shape` contradicts the model, or there is no such output.
    """
    graph = model.graph
    outputs = _named_output(graph, scores_name) if scores_name else list(graph.outputs)
    if len(outputs) > 1:
        outputs.sort(key=_rank)
    candidates = [v for v in graph.inputs if not v.is_initializer() and _may_be_picture(v, input_shape)]
    for image in candidates:
        for scores in outputs:
            path = data_path(image, scores)
            if path:
                layout, shape = _layout_and_shape(image, input_shape, path, size)
                ends = Ends(image, layout, shape, scores, path)
                check_picture(f"the input '{image.name}'", shape[0], *ends.size, ends.channels)
                return ends
    if candidates and scores_name:
        raise GraftError(f"the output '{scores_name}' does not depend on the picture: it holds no scores")
    listed = ", ".join(f"'{v.name}' {_show(v)}" for v in graph.inputs if not v.is_initializer())
    raise GraftError(
        "no image input: looked for a float or uint8 input N×C×H×W or N×H×W×C that reaches an output; "
        f"the model's inputs are {listed or 'none'}"
    )


def other_scores(model: ir.Model, ends: Ends) -> list[str]:
    """Further outputs that the picture reaches and that have the shape of scores."""
    return [
        value.name or ""
        for value in model.graph.outputs
        if value is not ends.scores
        and not any(_unlike_scores(value))
        and _one_per_picture(value, ends.image)
        and data_path(ends.image, value)
    ]


def _one_per_picture(value: ir.Value, image: ir.Value) -> bool:
    """Whether an output has as many items as the input has pictures, as far as both say."""
    first, pictures = ((known_dims(v) or (None,))[0] for v in (value, image))
    return first in (None, 1, pictures)


def find_value(model: ir.Model, name: str) -> ir.Value:
    """The tensor of that name.

    Raises:
        GraftError: There is none (the message names the closest), or it is an input of the model.
    """
    if any(name == value.name for value in model.graph.inputs):
        raise GraftError(f"'{name}' is an input of the model and cannot be tapped: name a tensor behind it")
    values = {value.name or "": value for node in model.graph for value in node.outputs}
    if name not in values:
        raise GraftError(f"no tensor named '{name}'{closest(name, values)}")
    return values[name]


def _named_output(graph: ir.Graph, name: str) -> list[ir.Value]:
    found = [value for value in graph.outputs if value.name == name]
    if not found:
        names = [value.name or "" for value in graph.outputs]
        raise GraftError(f"no output named '{name}'{closest(name, names)}; there are {', '.join(names)}")
    if holds_no_numbers(found[0]):
        raise GraftError(f"the output '{name}' holds no scores: its elements are {found[0].dtype}")
    return found


def _may_be_picture(value: ir.Value, input_shape: Sequence[int] | None) -> bool:
    rank_fits = len(value.shape) == 4 if value.shape is not None else input_shape is not None
    return rank_fits and value.dtype in PICTURE_TYPES


def _unlike_scores(value: ir.Value) -> tuple[bool, bool]:
    """Reasons against an output as scores: it holds indices or names; it has another shape."""
    other = holds_no_numbers(value)
    if value.shape is None:
        return other, True
    rank = len(value.shape)
    return other, not (rank == 2 or (rank == 4 and list(value.shape)[2:] == [1, 1]))


def _rank(value: ir.Value) -> tuple[bool, ...]:
    """Reasons against an output as scores, strongest first."""
    shape = list(value.shape or ())[1:]
    return (
        *_unlike_scores(value),
        not all(isinstance(size, int) for size in shape),
        not ends_in_probabilities(value),
    )


def _show(value: ir.Value) -> str:
    return "×".join(str(d) for d in value.shape) if value.shape is not None else "of unknown shape"


def _layout_and_shape(
    image: ir.Value, asked: Sequence[int] | None, path: list[ir.Node], size: tuple[int, int]
) -> tuple[str, tuple[int, int, int, int]]:
    dims = known_dims(image) or (None,) * 4
    if asked is not None:
        if any(have not in (None, want) for have, want in zip(dims, asked, strict=True)):
            listed = ",".join(map(str, asked))
            raise GraftError(f"input shape {listed} contradicts '{image.name}', which is {_show(image)}")
        dims = tuple(asked)
    layout = _layout(dims, path)
    channels = _conv_channels(path) or 3
    default = (1, channels, *size) if layout == "NCHW" else (1, *size, channels)
    n, a, b, c = (d or assumed for d, assumed in zip(dims, default, strict=True))
    return layout, (n, a, b, c)


def _layout(dims: Dims, path: list[ir.Node]) -> str:
    """The layout: a picture has few channels. If both axes could be channels, a leading Transpose decides."""
    few = (1, 2, 3, 4)
    if dims[1] in few and dims[3] not in few:
        return "NCHW"
    if dims[3] in few and dims[1] not in few:
        return "NHWC"
    first = next((n for n in path if n.op_type == "Transpose" or facts(n.op_type).convolution), None)
    perm = list(first.attributes.get_ints("perm", ())) if first is not None else []
    return "NHWC" if perm == TO_NCHW else "NCHW"


def _conv_channels(path: list[ir.Node]) -> int | None:
    """The channels that the first convolution expects."""
    for node in path:
        index = facts(node.op_type).weight_input
        weight = node.inputs[index] if index is not None else None
        if weight is not None and weight.shape is not None:
            if len(weight.shape) < 2:
                raise GraftError(
                    f"the weight '{weight.name}' of a {node.op_type} has {len(weight.shape)} dimensions"
                )
            per_group = weight.shape[1]
            return per_group * node.attributes.get_int("group", 1) if isinstance(per_group, int) else None
    return None
