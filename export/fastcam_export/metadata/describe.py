"""The metadata of a grafted file, from the plan and the options."""

from __future__ import annotations

import onnx_ir as ir
from fastcam_runtime.contract import ImageInput, Metadata, TapInfo
from fastcam_runtime.text import count

from ..analysis.ends import other_scores
from ..analysis.plan import Plan
from ..analysis.scores import count_classes
from ..detect.find import Detector
from ..errors import GraftError
from ..load import Source
from ..method.approximate import Scales
from ..options import Options
from .labels import NAMES_KEY, parse_names
from .preprocess import resolve_preprocess

SCORE_GRID = "scores"
"""What the metadata call the class maps of a detector."""


def describe_graft(
    source: Source, found: Plan, scales: Scales, options: Options, outputs: tuple[str, ...]
) -> Metadata:
    """The metadata of a graft.

    Raises:
        GraftError: The user's labels or preprocessing do not fit the model.
    """
    ends = found.ends
    own = {entry.key: entry.value for entry in source.proto.metadata_props}
    detector = found.detector if isinstance(found.detector, Detector) else None
    family = detector.found.family if detector is not None else None
    height, width = ends.size
    is_uint8 = ends.image.dtype == ir.DataType.UINT8
    taps = tuple(
        TapInfo(tap.name, (None, tap.shape[1], *found.fixed_size(tap)), weight)
        for tap, weight in zip(scales.taps, scales.weights, strict=True)
    )
    return Metadata(
        image=ImageInput(ends.image.name or "", ends.layout, ends.channels, height, width),
        scores=ends.scores.name or "",
        scores_are=found.scores_are if detector is None else "probabilities",
        taps=taps,
        outputs=outputs,
        statistic=options.statistic,
        epsilon=options.epsilon,
        normalize=options.normalize,
        cam=_cam(options, detector),
        preprocess=resolve_preprocess(
            options.preprocess,
            own,
            ends.channels,
            is_uint8,
            family.preprocess if family is not None else None,
        ),
        resize=options.resize or (family.resize if family is not None else "stretch"),
        labels=_labels(found, options, own.get(NAMES_KEY, "")),
        source_sha256=source.sha256,
        approximation=scales.approximation,
        detector=detector.head if detector is not None else None,
    )


def _cam(options: Options, detector: Detector | None) -> str | None:
    if not options.needs_class_maps:
        return None
    return options.cam if detector is None else SCORE_GRID


def _labels(found: Plan, options: Options, names: str) -> tuple[str, ...]:
    """The user's labels, which must fit; else those of the file, if they do."""
    detector = found.detector if isinstance(found.detector, Detector) else None
    classes = count_classes(found.ends.scores) if detector is None else detector.head.classes
    if options.labels is not None:
        if classes is not None and len(options.labels) != classes:
            others = other_scores(found.model, found.ends)
            hint = f"; if the scores are in {' or '.join(others)}, say --scores {others[0]}" if others else ""
            if classes == 1:
                hint = f"; give one label, for what a high score means{hint}"
            raise GraftError(
                f"labels: {count(len(options.labels), 'label')} for {classes} "
                f"class{'' if classes == 1 else 'es'} of {found.ends.scores.name}{hint}"
            )
        return tuple(options.labels)
    labels = parse_names(names)
    if not labels and detector is not None:
        return detector.found.labels
    return labels if classes in (None, len(labels)) else ()
