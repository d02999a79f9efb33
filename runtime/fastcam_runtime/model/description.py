"""The text that `fastcam inspect` prints for a grafted file; everything in it comes from the metadata."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..classes import describe_scores
from ..contract import METADATA_KEY, ImageInput, Metadata, Preprocess, Provenance, TapInfo
from ..text import count, left_table, one_line
from . import device
from .file import Summary
from .kernels import describe_kernels


def describe_graft(path: Path, file: Summary) -> str:
    """Describe a grafted file: one line per fact, then the table of its scales.

    Raises:
        ModelError: Its metadata are damaged.
    """
    metadata = Metadata.of_file(path, file.metadata[METADATA_KEY])
    kind = "prepared" if metadata.prepared else "functions" if file.functions else "plain operators"
    pre = metadata.preprocess
    lines = [
        f"{path} is grafted (format {metadata.version}, {kind})",
        f"image       {metadata.image.name}  {_image(metadata.image, metadata.taps)}",
        *value_lines(pre, metadata.resize, metadata.labels, metadata.provenance),
        f"scores      {metadata.scores}  {_scores(file, metadata)}",
        f"maps        {metadata.statistic} (epsilon {metadata.epsilon:g}) → {metadata.normalize}",
        *([f"approximate {metadata.approximation}"] if metadata.approximation else []),
        *([f"class maps  {metadata.cam}"] if metadata.cam else []),
        *([f"prepared    for {metadata.prepared} only"] if metadata.prepared else []),
        f"outputs     {', '.join(metadata.outputs)}",
        *([f"weights     in {_weights(path, file)}"] if file.weights else []),
        f"runs here   {_runs_here(file, metadata)}",
        f"source      sha256 {metadata.source_sha256}",
        "",
    ]
    rows = [("scale", "shape", "weight", "tensor")]
    for k, tap in enumerate(metadata.taps, start=1):
        rows.append((str(k), "×".join(str(d or "?") for d in tap.shape), f"{tap.weight:g}", tap.name))
    return "\n".join([*map(one_line, lines), left_table(rows)])


def value_lines(
    preprocess: Preprocess, resize: str, labels: Sequence[str], provenance: Provenance
) -> list[str]:
    """One line per value that a user may have to correct, with where it came from."""
    return [
        f"{name:<12}{value}" + (f"   {where}" if where else "")
        for name, value, where in values_told(preprocess, resize, labels, provenance)
    ]


def values_told(
    preprocess: Preprocess, resize: str, labels: Sequence[str], provenance: Provenance
) -> list[tuple[str, str, str]]:
    """The same as names, values and where each came from; that is empty if it is not known."""
    shift, scale = _numbers(preprocess.mean), _numbers(preprocess.std)
    bars = f", bars of {preprocess.pad}" if resize == "letterbox" and preprocess.pad is not None else ""
    corner = ", in the corner" if resize == "letterbox" and preprocess.placement == "corner" else ""
    return [
        ("preprocess", f"{preprocess.order} (x − {shift}) / {scale}", provenance.preprocess),
        ("resize", f"{resize}{bars}{corner}", provenance.resize),
        ("labels", _shown(labels), provenance.labels),
    ]


def _scores(file: Summary, metadata: Metadata) -> str:
    if metadata.detector is not None:
        return metadata.scores_are
    numbers = metadata.scores not in file.no_numbers
    return describe_scores(metadata.scores_shape, metadata.scores_are, numbers=numbers)


def _shown(labels: Sequence[str]) -> str:
    shown = ", ".join(labels[:3]) + ("…" if len(labels) > 3 else "")
    return f"{len(labels)}: {shown}" if labels else "no labels"


def _image(image: ImageInput, taps: Sequence[TapInfo]) -> str:
    text = f"{count(image.channels, 'channel')}, {image.height}×{image.width} {image.layout}"
    # The picture's size is free if and only if a scale's size is.
    free = any(side is None for tap in taps for side in tap.shape[2:])
    return f"{text} (of free size: frames are resized to this one)" if free else text


def _weights(path: Path, file: Summary) -> str:
    missing = file.missing_weights(path)
    names = ", ".join(f"{name} (NOT THERE)" if name in missing else name for name in file.weights)
    return f"{names}, needed beside it"


def _numbers(values: Sequence[float]) -> str:
    """Numbers in short form: the file has all digits of the float."""
    return f"[{', '.join(f'{value:g}' for value in values)}]"


def _runs_here(file: Summary, metadata: Metadata) -> str:
    refusal = device.refusal(metadata.prepared, compiled=True, provider_is_cpu=True)
    return f"not at all: {refusal}" if refusal else describe_kernels(file, compiled=True, on_cpu=True)
