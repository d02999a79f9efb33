"""Preprocessing, resize and labels of a network: their sources, in order of precedence.

For each value the first source that states it wins:

    who                keys or files                                                     states
    the user           --preprocess, --resize, --labels                                  each
    the file itself    preprocess; names                                                 preprocess; labels
    Ultralytics        task, names, stride, author                                       all three
    Model API          model_info labels, mean_values, scale_values, resize_type, …      all three
    files beside it    preprocessor_config.json, config.json (Hugging Face, timm)        all three
    PaddleOCR          character                                                         preprocess, resize
    ONNX               Image.BitmapPixelFormat, Image.NominalPixelRange                  preprocess
    the graph          leading Sub, Div, Mul, Add, BatchNormalization; a uint8 input     preprocess
    a detector's head  the family that its outputs show                                  all three
    none of these      ImageNet's preprocessing, stretch, no labels; marked as assumed
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import onnx_ir as ir
from fastcam_runtime.contract import PREPROCESS, Preprocess, Provenance
from fastcam_runtime.text import count

from ..analysis.ends import other_scores
from ..analysis.plan import Plan
from ..detect.find import Detector
from ..errors import GraftError
from ..load import LoadedModel
from ..options import Options
from . import hugging_face, in_graph, model_api, onnx_image, paddle_ocr, ultralytics
from .clue import Clue, ModelFile
from .labels import excess
from .own_keys import read_names, read_preprocess
from .preprocess import asked_preprocess, fit_channels, unstated

READERS: tuple[Callable[[ModelFile], Clue | None], ...] = (
    read_preprocess,
    ultralytics.read,
    read_names,
    model_api.read,
    hugging_face.read,
    paddle_ocr.read,
    onnx_image.read,
    in_graph.read,
)
"""In the order of the table. Ultralytics' files have `names` too, so the more specific source comes first."""


@dataclass(frozen=True)
class Resolved:
    """Preprocessing, resize and labels, and where each value came from."""

    preprocess: Preprocess
    resize: str
    labels: tuple[str, ...]
    provenance: Provenance


def resolve(found: Plan, options: Options, source: LoadedModel) -> Resolved:
    """Try all sources in the table above. The user's options have priority.

    Raises:
        GraftError: The user's options or the file's `preprocess` are wrong or do not fit the network.
    """
    file = ModelFile(source.metadata, source.path, found.ends.image, found.ends.path)
    clues = [clue for read in READERS if (clue := read(file)) is not None]
    if found.ends.image.dtype == ir.DataType.UINT8:
        clues.append(Clue("the input, which takes bytes (order RGB assumed)", PREPROCESS["raw255"]))
    clues += _of_family(found)
    preprocess, fed = _preprocess(options, clues, found.ends.channels)
    resize, fitted = _resize(options, clues)
    labels, named = _labels(found, options, clues)
    return Resolved(preprocess, resize, labels, Provenance(fed, fitted, named))


def _of_family(found: Plan) -> list[Clue]:
    detector = found.detector
    if not isinstance(detector, Detector):
        return []
    family, clues = detector.found.family, []
    if family is not None:
        clues.append(
            Clue(f"the family {family.name}: {detector.found.why}", family.preprocess, family.resize)
        )
    if detector.found.labels:
        clues.append(Clue(detector.found.labels_why, labels=detector.found.labels))
    return clues


def _preprocess(options: Options, clues: list[Clue], channels: int) -> tuple[Preprocess, str]:
    if options.preprocess is not None:
        return fit_channels(asked_preprocess(options.preprocess), channels), "from --preprocess"
    for clue in clues:
        # What a convention says of colours says nothing of 2 or 4 channels.
        if clue.preprocess is not None and (channels in (1, 3) or len(clue.preprocess.mean) == channels):
            return fit_channels(clue.preprocess, channels), f"from {clue.where}"
    if channels not in (1, 3):
        raise unstated(channels)
    assumed = "ImageNet's, assumed: nothing in the file says"
    return fit_channels(PREPROCESS["imagenet"], channels), assumed


def _resize(options: Options, clues: list[Clue]) -> tuple[str, str]:
    if options.resize is not None:
        return options.resize, "from --resize"
    for clue in clues:
        if clue.resize is not None:
            return clue.resize, f"from {clue.where}"
    return "stretch", "assumed: nothing in the file says"


def _labels(found: Plan, options: Options, clues: list[Clue]) -> tuple[tuple[str, ...], str]:
    """The user's labels, which must fit; else the first labels that fit."""
    detector = found.detector if isinstance(found.detector, Detector) else None
    classes = found.classes if detector is None else detector.head.classes
    if options.labels is not None:
        if classes is not None and len(options.labels) != classes:
            raise GraftError(_misfit(found, len(options.labels), classes))
        return tuple(options.labels), "from --labels"
    if detector is None and not found.has_classes:
        return (), "none: the scores are not of classes"
    stated = [clue for clue in clues if clue.labels]
    for clue in stated:
        if (large := excess(clue.labels)) != "":
            return (), f"none: those in {clue.where} are not taken: {large}"
        if classes in (None, len(clue.labels)):
            return clue.labels, f"from {clue.where}"
    if stated:
        return (), f"none: {len(stated[0].labels)} in {stated[0].where} do not fit {classes} classes"
    return (), "none: nothing in the file says; --labels FILE names them"


def _misfit(found: Plan, labels: int, classes: int) -> str:
    others = other_scores(found.model, found.ends)
    hint = f"; if the scores are in {' or '.join(others)}, say --scores {others[0]}" if others else ""
    if classes == 1:
        hint = f"; give one label, for what a high score means{hint}"
    return (
        f"labels: {count(labels, 'label')} for {classes} "
        f"class{'' if classes == 1 else 'es'} of {found.ends.scores.name}{hint}"
    )
