"""The keys of OpenVINO's Model API: `model_info labels`, `model_info mean_values` and others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fastcam_runtime.classes import are_class_scores
from fastcam_runtime.contract import Metadata, Preprocess

from .clue import Clue, ModelFile, scaled

_PREFIX = "model_info "
_RESIZE = {
    "standard": ("stretch", "centre"),
    "crop": ("crop", "centre"),
    "fit_to_window": ("letterbox", "corner"),
    "fit_to_window_letterbox": ("letterbox", "centre"),
}
"""Model API's `resize_type`, and our resize with the placement of the picture."""
_YES = ("YES", "True")


def read(file: ModelFile) -> Clue | None:
    """What the keys say, and the defaults of Model API's wrappers for what they leave out.

    Model API reads pictures as BGR: `reverse_input_channels` makes them RGB.
    """
    info = {key[len(_PREFIX) :]: text for key, text in file.metadata.items() if key.startswith(_PREFIX)}
    if not info:
        return None
    labels = tuple(info.get("labels", "").split())
    resize, placement = _RESIZE.get(info.get("resize_type", ""), (None, "centre"))
    return Clue("Model API's 'model_info' keys", _preprocess(info, placement), resize, labels)


def _preprocess(info: Mapping[str, str], placement: str) -> Preprocess | None:
    if not {"model_type", "mean_values", "scale_values", "reverse_input_channels"} & set(info):
        return None
    if info.get("embedded_processing") in _YES:
        return Preprocess("BGR")  # the graph does the rest
    order = "RGB" if info.get("reverse_input_channels") in _YES else "BGR"
    pad = info.get("pad_value", "") or "0"
    barred = info.get("resize_type", "").startswith("fit_to_window")
    found = scaled(
        order,
        _numbers(info.get("mean_values", "")) or 0.0,
        _numbers(info.get("scale_values", "")) or 1.0,
        pad=int(pad) if barred and pad.isdigit() and int(pad) <= 255 else None,
    )
    return replace(found, placement=placement) if found is not None else None


def _numbers(text: str) -> list[Any]:
    return text.replace(",", " ").strip("[] ").split()


def _classifies(metadata: Metadata) -> bool:
    shape = metadata.scores_shape
    return metadata.detector is None and shape is not None and are_class_scores(shape)


def keys(metadata: Metadata) -> dict[str, str]:
    """The keys that let Model API open a grafted file; none for a picture that is not in colour."""
    pre = metadata.preprocess
    if pre.order not in ("RGB", "BGR"):
        return {}
    types = {ours: theirs for theirs, ours in _RESIZE.items()}
    values = {"model_type": "Classification"} if _classifies(metadata) else {}
    values |= {
        "mean_values": " ".join(f"{value:g}" for value in pre.mean),
        "scale_values": " ".join(f"{value:g}" for value in pre.std),
        "reverse_input_channels": "YES" if pre.order == "RGB" else "NO",
        "resize_type": types.get((metadata.resize, pre.placement), "standard"),
    }
    if pre.pad is not None:
        values["pad_value"] = str(pre.pad)
    if metadata.labels:
        # Model API separates labels by spaces.
        values["labels"] = " ".join("_".join(label.split()) or "_" for label in metadata.labels)
    return {_PREFIX + key: text for key, text in values.items()}
