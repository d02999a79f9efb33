"""JSON files beside the model: Hugging Face's `preprocessor_config.json`, its and timm's `config.json`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastcam_runtime.contract import Preprocess

from .clue import Clue, ModelFile, parse, scaled
from .labels import class_names

_BYTE = 1 / 255


def read(file: ModelFile) -> Clue | None:
    """What the files say. Their repositories keep them beside the model, or one folder above `onnx/`."""
    if file.path is None:
        return None
    folders = [file.path.resolve().parent]
    if folders[0].name == "onnx":
        folders.append(folders[0].parent)
    for folder in folders:
        processor, config = (_json(folder / name) for name in ("preprocessor_config.json", "config.json"))
        timm = config.get("pretrained_cfg")
        names = [
            name for name, said in (("preprocessor_config.json", processor), ("config.json", config)) if said
        ]
        preprocess, resize = _of_processor(processor)
        if preprocess is None and isinstance(timm, Mapping):
            preprocess, resize = _of_timm(timm)
        labels = _labels(config)
        if preprocess is not None or labels:
            return Clue(f"{' and '.join(names)} beside the file", preprocess, resize, labels)
    return None


def _json(path: Path) -> Mapping[str, Any]:
    try:
        said = parse(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return {}
    return said if isinstance(said, Mapping) else {}


def _of_processor(said: Mapping[str, Any]) -> tuple[Preprocess | None, str | None]:
    if "image_mean" not in said and "rescale_factor" not in said:
        return None, None
    factor = said.get("rescale_factor", _BYTE) if said.get("do_rescale", True) else 1.0
    plain = not said.get("do_normalize", "image_mean" in said)
    mean, std = (0.0, 1.0) if plain else (said.get("image_mean", 0.0), said.get("image_std", 1.0))
    cropped = said.get("do_center_crop") or "crop_pct" in said
    resize = "crop" if cropped else "letterbox" if said.get("do_pad") else "stretch"
    return scaled("RGB", mean, std, factor if isinstance(factor, int | float) else _BYTE), resize


def _of_timm(said: Mapping[str, Any]) -> tuple[Preprocess | None, str | None]:
    if "mean" not in said or "std" not in said:
        return None, None
    return scaled("RGB", said["mean"], said["std"], _BYTE), "crop"


def _labels(config: Mapping[str, Any]) -> tuple[str, ...]:
    for given in (config.get("id2label"), config.get("label_names")):
        try:
            labels = class_names(given)
        except (TypeError, ValueError, OverflowError):
            continue
        if labels:
            return labels
    return ()
