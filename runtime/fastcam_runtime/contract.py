"""The contract of a grafted file: the names of its outputs, and the JSON in its metadata.

The exporter writes it and the runtime reads it; both import it from here.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .detect.head import Head
from .errors import ModelError, first_line
from .limits import MAX_METADATA, check_picture
from .metadata_rules import check_metadata
from .text import printable

DOMAIN = "fastcam"
METADATA_KEY = "fastcam"
FORMAT_VERSION = 1
NODE_PREFIX = "fastcam/"
"""The names of all grafted nodes start with it, to tell them from the nodes of the network."""

MAP = "saliency_map"
LOVI = "saliency_lovi"
CAM = "saliency_cam"
FASTCAM = "saliency_fastcam"
NONCLASS = "saliency_nonclass"
CLASS_INPUT = "saliency_class"
CLASSES = "saliency_classes"
"""The name of that input's dimension if one image may have any number of classes at once."""
BOX_INPUT = "saliency_box"
"""The row of a detector's head whose class logit the maps are of."""
ARGMAX = -1
"""The value of both that means: what has the highest score."""
CHOICE_INPUTS = (CLASS_INPUT, BOX_INPUT)
"""The added inputs: what the class maps are of. int64, one value per picture."""

SCALE_PREFIX = "saliency_scale_"
MAP_BYTES = "saliency_map_uint8"
MAP_RGBA = "saliency_map_rgba"
"""Outputs of `--map-output`, for programs that do not draw maps; the runtime does not read them."""

OUTPUTS = ("saliency_map", "scales", "lovi", "cam", "fastcam", "nonclass")
"""The names that `fastcam export --outputs` takes; `saliency_map` is the default."""

CLASS_OUTPUTS = ("cam", "fastcam", "nonclass")


def scale_output(k: int) -> str:
    """The output name of scale `k`, counted from 1 at the shallow end."""
    return f"{SCALE_PREFIX}{k}"


def output_names(outputs: tuple[str, ...], scales: int) -> tuple[str, ...]:
    """The names in the file of `outputs` (names of `OUTPUTS`), in the contract's order."""
    names: list[str] = []
    for word in OUTPUTS:
        if word not in outputs:
            continue
        if word == "scales":
            names += [scale_output(k) for k in range(1, scales + 1)]
        else:
            names.append(MAP if word == "saliency_map" else f"saliency_{word}")
    return tuple(names)


_WORDS = {"map": "saliency_map"} | {n: word for word in OUTPUTS for n in output_names((word,), scales=0)}


def words_of(outputs: Iterable[str]) -> tuple[str, ...]:
    """Requested outputs as names of `OUTPUTS`, each once; unknown names stay as they are.

    `outputs` are such names or names in the file (`saliency_cam`): a list, or a text with commas.
    """
    names = [name.strip() for name in outputs.split(",")] if isinstance(outputs, str) else outputs
    return tuple(dict.fromkeys(_WORDS.get(name, name) for name in names))


PLACEMENTS = ("centre", "corner")
AS_IS = "AS_IS"
ORDERS: Mapping[str, int | None] = {"RGB": 3, "BGR": 3, "GRAY": 1, "RGBA": 4, "BGRA": 4, AS_IS: None}
"""The channels of a picture, in the network's order, and how many. `AS_IS`: an array of just as many channels
as the network takes, which are no colours; one for each value of `mean`."""
MOST_CHANNELS = 4
_LARGEST = 1e9
"""Limit of means and standard deviations, whose usual range is 0…255: no quotient overflows float32."""


@dataclass(frozen=True)
class Preprocess:
    """From a uint8 picture to the network's input: `(x − mean) / std` per channel, x in 0…255.

    `order` is one of `ORDERS`; `mean` and `std` have one value per channel of that order.
    """

    order: str = "RGB"
    mean: tuple[float, ...] = (0.0, 0.0, 0.0)
    std: tuple[float, ...] = (1.0, 1.0, 1.0)
    pad: int | None = None
    """The grey level of letterbox bars, 0…255; None for bars of the mean colour."""
    placement: str = "centre"
    """Where a letterboxed picture lies: `centre`, or `corner`, the upper left."""

    def __post_init__(self) -> None:
        if self.placement not in PLACEMENTS:
            raise ModelError(
                f"preprocess: placement is {self.placement!r}, not one of {', '.join(PLACEMENTS)}"
            )
        if self.pad is not None and not (isinstance(self.pad, int) and 0 <= self.pad <= 255):
            raise ModelError(f"preprocess: pad is {self.pad!r}, not a gray of 0…255")
        if self.order not in ORDERS:
            raise ModelError(f"preprocess: order is {self.order!r}, not one of {', '.join(ORDERS)}")
        channels = ORDERS[self.order] or min(max(len(self.mean), 1), MOST_CHANNELS)
        for field in ("mean", "std"):
            values = getattr(self, field)
            if len(values) != channels:
                raise ModelError(
                    f"preprocess: {field} has {len(values)} values, {self.order} needs {channels}"
                )
            if not all(math.isfinite(value) for value in values):
                raise ModelError(f"preprocess: {field} holds {list(values)}, not only finite numbers")
            if any(abs(value) > _LARGEST for value in values):
                raise ModelError(f"preprocess: {field} holds {list(values)}, not only ±{_LARGEST:g} or less")
        if any(value == 0 for value in self.std):
            raise ModelError("preprocess: std holds a zero")
        if any(abs(value) < 1 / _LARGEST for value in self.std):
            raise ModelError(f"preprocess: std holds {list(self.std)}, not only {1 / _LARGEST:g} or more")

    @property
    def alpha(self) -> bool:
        """Whether the network sees the opacity of a picture."""
        return self.order in ("RGBA", "BGRA")


PREPROCESS: Mapping[str, Preprocess] = {
    "imagenet": Preprocess("RGB", (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)),
    "unit": Preprocess("RGB", (0.0, 0.0, 0.0), (255.0, 255.0, 255.0)),
    "signed": Preprocess("RGB", (127.5, 127.5, 127.5), (127.5, 127.5, 127.5)),
    "raw255": Preprocess("RGB", (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)),
}

RESIZE = ("stretch", "crop", "letterbox")
"""How a frame is fitted to the input: squeezed whole, only its centre, or whole with bars."""


@dataclass(frozen=True)
class ImageInput:
    """The picture's input: its name, `NCHW` or `NHWC`, and the size that frames are resized to."""

    name: str
    layout: str
    channels: int
    height: int
    width: int


@dataclass(frozen=True)
class FrameInput:
    """The input of a file that preprocesses frames itself: uint8, height × width × channels, red first."""

    name: str
    height: int
    width: int
    channels: int


@dataclass(frozen=True)
class TapInfo:
    """One scale: the tapped tensor, its shape (null where free), and its weight in the combination."""

    name: str
    shape: tuple[int | None, ...]
    weight: float


@dataclass(frozen=True)
class Provenance:
    """Where values of the metadata came from, as text for a person; empty if the file does not say."""

    preprocess: str = ""
    resize: str = ""
    labels: str = ""


@dataclass(frozen=True)
class Metadata:
    """The JSON under the metadata key `fastcam`."""

    image: ImageInput
    scores: str
    """The output that holds the class scores."""
    scores_are: str
    """`logits`, or `probabilities` if the network ends in a Softmax or Sigmoid."""
    taps: tuple[TapInfo, ...]
    outputs: tuple[str, ...]
    statistic: str = "smoe"
    epsilon: float = 1e-6
    normalize: str = "gauss"
    cam: str | None = None
    preprocess: Preprocess = PREPROCESS["imagenet"]
    resize: str = "stretch"
    labels: tuple[str, ...] = ()
    source_sha256: str = ""
    approximation: str = ""
    """How cheaper maps approximate the method, as text; empty if they are exact."""
    prepared: str = ""
    """The device that the file was prepared for: onnxruntime's release and the processor; empty for any."""
    frame: FrameInput | None = None
    """Set in a file that takes frames instead of the image input; `image` is then inside the graph."""
    version: int = FORMAT_VERSION
    provenance: Provenance = Provenance()
    scores_shape: tuple[int | None, ...] | None = None
    """The shape of the scores of one picture, None where free; the whole shape of an output that has not one
    item per picture. None in files that do not say."""
    detector: Head | None = None
    """Where a detector's boxes and scores are and how they are encoded; None for any other network."""

    def to_json(self) -> str:
        """The text for the file. Keys that only some files need are left out of the others."""
        fields = dataclasses.asdict(self)
        for key in ("detector", "frame", "scores_shape"):
            if fields[key] is None:
                del fields[key]
        if self.provenance == Provenance():
            del fields["provenance"]
        for key in ("pad", "placement"):
            if getattr(self.preprocess, key) == getattr(Preprocess, key):
                del fields["preprocess"][key]
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def of_file(cls, path: Path, text: str) -> Metadata:
        """`from_json` for the metadata of a file; errors name the file."""
        try:
            return cls.from_json(text)
        except ModelError as error:
            raise ModelError(f"{path}: {error}") from error

    @classmethod
    @functools.lru_cache(maxsize=8)
    def from_json(cls, text: str) -> Metadata:
        """Read what `to_json` wrote, and ignore the unknown keys of a newer writer.

        Parsing many labels takes a while, and every session of a file has the same text: the last few results
        are cached.
        """
        try:
            if len(text) > MAX_METADATA:
                raise ModelError(f"it has {len(text)} characters, {MAX_METADATA} are the limit")
            fields: Any = json.loads(text)
            version = fields.get("version") if isinstance(fields, dict) else None
            newer = isinstance(version, int) and version > FORMAT_VERSION
            if not newer:
                check_metadata(fields)
        except ModelError as error:
            raise ModelError(f"the file's '{METADATA_KEY}' metadata is damaged: {error}") from error
        except (ValueError, RecursionError) as error:
            raise ModelError(
                f"the file's '{METADATA_KEY}' metadata is damaged: it is not JSON ({first_line(error)})"
            ) from error
        if newer:
            raise ModelError(
                f"grafted by a newer fastcam (format {printable(str(version))}, this one reads "
                f"{FORMAT_VERSION})"
            )
        fields["image"] = _build(ImageInput, fields["image"])
        check_picture("its picture", 1, fields["image"].height, fields["image"].width)
        fields["taps"] = tuple(_build(TapInfo, tap) for tap in fields["taps"])
        fields["preprocess"] = _build(Preprocess, fields["preprocess"])
        fields["provenance"] = _build(Provenance, fields.get("provenance") or {})
        if fields.get("detector") is not None:
            fields["detector"] = Head.from_fields(fields["detector"])
        if fields.get("frame") is not None:
            fields["frame"] = _build(FrameInput, fields["frame"])
        metadata: Metadata = _build(cls, fields)
        return metadata


def _build(kind: type, fields: Mapping[str, Any]) -> Any:
    """Build the frozen dataclass `kind`: lists become tuples, unknown keys are ignored."""
    known = {field.name for field in dataclasses.fields(kind)}
    return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in fields.items() if k in known})
