"""Find the detector in a network: one run, recognition, family, and a second run with its own input."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import onnx_ir as ir
from fastcam_runtime.contract import PREPROCESS, Preprocess
from fastcam_runtime.detect.decode import find_candidates
from fastcam_runtime.detect.head import Grid, Head, as_tuples
from fastcam_runtime.errors import FastcamError
from fastcam_runtime.preprocess import Preprocessor
from fastcam_runtime.sources.test_clip import PHOTOS

from ..analysis.dominators import data_path
from ..analysis.ends import Ends
from ..analysis.scores import depends_on_content
from ..analysis.shapes import Shapes, observe
from ..analysis.values import known_dims
from ..errors import GraftError
from ..metadata.preprocess import fit_channels
from .end_to_end import count_inner_classes, find_inner_scores
from .families import Recognised, find_family
from .joined_grids import joined_grids
from .outputs import NoHeadError, strip_batch
from .raw_grids import Anchors
from .recognise import recognise

_LOOKED_AT = 20
"""This many boxes with the highest scores must be in the picture."""


@dataclass(frozen=True)
class Detector:
    """A network's head, with what is known about its family."""

    found: Recognised
    scores: Head | None
    """The head that the class maps read; for an end-to-end network, the scores inside the graph. None if
    there is no grid of scores."""
    shapes: Shapes
    """Concrete shapes of the tensors that the scores follow from, by name."""

    @property
    def head(self) -> Head:
        return self.found.head

    def describe(self) -> list[str]:
        """Lines for a person: what was recognised, and why."""
        found, family = self.found, self.found.family
        lines = [
            f"head    {', '.join(self.head.outputs)}",
            f"        {self.head.why}",
            f"family  {family.name if family is not None else 'unknown'}: {found.why}",
        ]
        if family is not None:
            pre = family.preprocess
            bars = "" if pre.pad is None else f", bars of {pre.pad}, picture in the {pre.placement}"
            lines.append(
                f"        fed {pre.order} (x − {pre.mean[0]:g}…) / {pre.std[0]:g}…, {family.resize}{bars}"
            )
        if self.scores is None:
            lines.append("maps    no class maps: the graph has no grid of scores")
        return lines


@dataclass(frozen=True)
class Network:
    """The network and the facts that recognition needs."""

    model: ir.Model
    ends: Ends
    shapes: Shapes
    folder: Path | None
    metadata: Mapping[str, str]

    def run(self, preprocess: Preprocess, resize: str) -> dict[str, np.ndarray]:
        """The outputs for a photo, by name, without the batch dimension."""
        assert self.ends.image.dtype is not None
        dtype = self.ends.image.dtype.numpy()
        own = PREPROCESS["raw255"] if dtype == np.uint8 else preprocess
        own = fit_channels(own, self.ends.channels)
        photo = cv2.imread(str(PHOTOS / "chelsea.jpg"))
        assert photo is not None
        tensor, _ = Preprocessor(self.ends.image_input, own, resize, dtype, self.ends.shape[0])(photo)
        names = [value.name or "" for value in self.model.graph.outputs]
        return strip_batch(observe(self.model, self.ends, names, self.folder, tensor), self.ends.shape[0])


def may_be_detector(model: ir.Model, ends: Ends) -> bool:
    """Whether an output could hold rows of boxes: it has more than one dimension above 1."""
    if ends.channels not in (1, 3):
        return False
    objects = depends_on_content(ends.path)
    return any(_has_rows(known_dims(value) or (), ends.shape[0], objects) for value in model.graph.outputs)


def _has_rows(dims: Sequence[int | None], batch: int, objects: bool) -> bool:
    """`objects`: a free first dimension may be the number of objects instead of the batch."""
    free = dims[:1] == (None,)
    start = 0 if (free and objects) or (dims and not free and (dims[0] or 0) > 1 and batch == 1) else 1
    return sum(size != 1 for size in dims[start:]) > 1


def find_detector(
    network: Network, asked: str | Mapping[str, object] | None, labels: int | None
) -> Detector | NoHeadError:
    """The detector in a network, or why there is none.

    Args:
        network: The network.
        asked: The option `head`: None or `auto`, `none`, a family's name, or fields of the head.
        labels: How many class names are known.

    Raises:
        GraftError: The requested head does not fit.
    """
    if asked == "none":
        return NoHeadError("--head none")
    named = asked not in (None, "auto")
    try:
        detector = _look(network, asked if named else None, labels)
    except NoHeadError as error:
        if named:
            raise GraftError(f"--head does not fit: {error}") from error
        return error
    return detector


def _look(network: Network, asked: str | Mapping[str, object] | None, labels: int | None) -> Detector:
    size = network.ends.size
    try:
        arrays = network.run(PREPROCESS["unit"], "stretch")
    except FastcamError as error:
        raise NoHeadError(str(error)) from error

    def parts(rows: int) -> tuple[Grid, ...]:
        return joined_grids(network.ends.scores, rows, size, network.shapes)

    head = _override(
        asked, lambda anchors: recognise(arrays, size, labels=labels, parts=parts, anchors=anchors)
    )
    scores: Head | None = None
    if not head.grids:
        scores = find_inner_scores(network.ends.path, network.shapes, size, labels)
        if head.layout == "end_to_end" and labels is None:
            inner = scores.classes if scores else count_inner_classes(network.ends.path, network.shapes)
            head = replace(head, classes=max(head.classes, inner))
    found = find_family(head, network.metadata, named=isinstance(asked, str))
    _check(network, found)
    scores = found.head if found.head.grids else scores
    return Detector(found, scores, _all_shapes(network, scores))


def _override(asked: str | Mapping[str, Any] | None, recognised: Callable[[Anchors], Head]) -> Head:
    """The recognised head with the user's fields.

    A complete description, with layout, classes, boxes and scores, is taken without recognition. Else
    recognition is told the anchors: without them it refuses raw heads.

    Raises:
        NoHeadError: Nothing was recognised that the fields could complete, or they do not fit together.
    """
    if asked is None:
        return recognised(())
    if isinstance(asked, str):
        return replace(recognised(()), family=asked)
    try:
        if {"layout", "classes", "boxes", "scores"} <= set(asked):
            return Head.from_fields(asked)
        fields = {key: as_tuples(value) for key, value in asked.items()}
        head = recognised(fields.get("anchors", ()))
        if "grids" in asked:
            fields["grids"] = tuple(Grid(**grid) for grid in asked["grids"])
        return replace(head, **fields)
    except NoHeadError:
        raise
    except (FastcamError, TypeError) as error:
        raise NoHeadError(str(error)) from error


def _all_shapes(network: Network, scores: Head | None) -> Shapes:
    """The known shapes, and those behind every output with scores: the others are known for one output."""
    behind = {value.name: value for node in network.model.graph for value in node.outputs}
    missing = {
        value.name or ""
        for name in (scores.scores if scores is not None else ())
        for node in data_path(network.ends.image, behind[name])
        for value in node.outputs
        if value.name not in network.shapes
    }
    if not missing:
        return network.shapes
    found = observe(network.model, network.ends, sorted(missing), network.folder)
    return network.shapes | {name: array.shape for name, array in found.items()}


def _check(network: Network, found: Recognised) -> None:
    """Decode the best rows of a photo with the recognised encoding.

    Raises:
        NoHeadError: The scores are not 0…1, or the boxes are not in the picture.
    """
    head, family = found.head, found.family
    if head.decode == "priors" and not all(head.anchors):
        raise NoHeadError(
            f"the boxes of '{head.boxes[0]}' are not decoded, and no family with such priors is known: name "
            "them with --head '{\"anchors\": [[w,h,w,h…], …]}', one list per stride, in pixels"
        )
    preprocess, resize = (family.preprocess, family.resize) if family else (PREPROCESS["unit"], "stretch")
    size = network.ends.size
    outputs = network.run(preprocess, resize)
    try:
        rows = find_candidates(head, outputs, size, 0.0)
    except FastcamError as error:
        raise NoHeadError(str(error)) from error
    if not len(rows.rows):
        return  # a network that chooses its boxes may choose none
    best = np.argsort(-rows.scores)[:_LOOKED_AT]
    boxes = rows.boxes[best]
    centre = (boxes[:, :2] + boxes[:, 2:]) / 2
    inside = (centre > -0.25 * np.array(size[::-1])) & (centre < 1.25 * np.array(size[::-1]))
    positive = (boxes[:, 2:] >= boxes[:, :2]).all(axis=1)
    fits = np.isfinite(boxes).all(axis=1) & inside.all(axis=1) & positive
    if fits.mean() < 0.5:
        raise NoHeadError(
            f"{np.count_nonzero(~fits)} of the {len(best)} best boxes of '{head.boxes[0]}' are outside the "
            f"picture or have a negative size, decoded as {head.decode} in {head.unit}"
        )
