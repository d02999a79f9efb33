"""JSON files beside the model: Hugging Face's `preprocessor_config.json`, its and timm's `config.json`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastcam_runtime.contract import Preprocess
from fastcam_runtime.limits import read_whole

from .clue import Clue, ModelFile, scaled
from .labels import class_names, literal

_BYTE = 1 / 255


def read(file: ModelFile) -> Clue | None:
    """What the files say."""
    for folder in _folders(file.path):
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


def sizes(path: Path) -> list[tuple[str, Any]]:
    """What the files say of the picture's size, the most telling first: each with where it stands."""
    found: list[tuple[str, Any]] = []
    for folder in _folders(path):
        processor, config = (_json(folder / name) for name in ("preprocessor_config.json", "config.json"))
        timm = config.get("pretrained_cfg")
        if processor.get("do_center_crop"):
            found.append(("preprocessor_config.json beside the file", processor.get("crop_size")))
        found.append(("preprocessor_config.json beside the file", processor.get("size")))
        if isinstance(timm, Mapping):
            input_size = timm.get("input_size")
            found.append(
                ("config.json beside the file", input_size[1:] if isinstance(input_size, list) else None)
            )
    return found


def _folders(path: Path | None) -> list[Path]:
    """Where the repositories keep the files: beside the model, or one folder above `onnx/`."""
    if path is None:
        return []
    folder = path.resolve().parent
    return [folder, folder.parent] if folder.name == "onnx" else [folder]


def _json(path: Path) -> Mapping[str, Any]:
    try:
        said = literal(read_whole(path).decode())
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
