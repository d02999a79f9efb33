"""The metadata of a grafted file, from the plan and the options."""

from __future__ import annotations

from fastcam_runtime.contract import Metadata, TapInfo

from ..analysis.plan import Plan
from ..choices import CAM_METHODS
from ..detect.find import Detector
from ..load import LoadedModel
from ..method.approximate import Scales
from ..options import Options
from . import model_api, ultralytics
from .resolve import resolve

SCORE_GRID = "scores"
"""What the metadata call the class maps of a detector that are not of a gradient."""


def describe_graft(
    source: LoadedModel, found: Plan, scales: Scales, options: Options, outputs: tuple[str, ...]
) -> Metadata:
    """The metadata of a graft.

    Raises:
        GraftError: The user's labels or preprocessing do not fit the model.
    """
    ends = found.ends
    detector = found.detector if isinstance(found.detector, Detector) else None
    resolved = resolve(found, options, source)
    taps = tuple(
        TapInfo(tap.name, (None, tap.shape[1], *found.fixed_size(tap)), weight)
        for tap, weight in zip(scales.taps, scales.weights, strict=True)
    )
    return Metadata(
        image=ends.image_input,
        scores=ends.scores.name or "",
        scores_are=found.scores_are if detector is None else "probabilities",
        scores_shape=found.scores_shape,
        taps=taps,
        outputs=outputs,
        statistic=options.statistic,
        epsilon=options.epsilon,
        normalize=options.normalize,
        cam=_cam(options, detector),
        preprocess=resolved.preprocess,
        resize=resolved.resize,
        labels=resolved.labels,
        provenance=resolved.provenance,
        source_sha256=source.sha256,
        approximation=scales.approximation,
        detector=detector.head if detector is not None else None,
    )


def _cam(options: Options, detector: Detector | None) -> str | None:
    if not options.needs_class_maps:
        return None
    return options.cam or (CAM_METHODS[0] if detector is None else SCORE_GRID)


def for_others(metadata: Metadata) -> dict[str, str]:
    """Keys for the tools of others: Ultralytics' and Model API's."""
    return ultralytics.keys(metadata) | model_api.keys(metadata)
