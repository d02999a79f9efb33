"""What `fastcam evaluate` measures for docs/quality.md: the networks, the pictures, the commands."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..inputs.preprocessing import CAFFE, IMAGENETTE
from .study_plan import LITE0, MOBILENET, RESNET, RESNET50


@dataclass(frozen=True)
class Evaluated:
    """A file of results, and how it was made."""

    file: str
    network: str
    pictures: str
    """Of which archive."""
    command: str

    def heading(self, content: Mapping[str, Any]) -> str:
        """`EfficientNet-Lite0, 50 photos of imagenet200.zip (`fastcam evaluate …`):`"""
        return f"{self.network}, {content['evaluated']} {self.pictures} (`fastcam evaluate {self.command}`):"


_LITE0, _MOBILENET = "models/efficientnet-lite0.onnx", "mobilenet_v2.onnx --preprocess imagenet"
_RESNET50 = f"resnet50.onnx --preprocess '{json.dumps(CAFFE)}'"
_SMALL = f"small-resnet.onnx --preprocess '{json.dumps(IMAGENETTE)}'"
_IMAGENET = "photos of imagenet200.zip"
PICTURES = (
    Evaluated("lite0-imagenet.json", LITE0, _IMAGENET, f"{_LITE0} imagenet200 --count 50 --video cars.mp4"),
    Evaluated("mobilenet-imagenet.json", MOBILENET, _IMAGENET,
              f"{_MOBILENET} imagenet200 --count 50 --video cars.mp4"),
    Evaluated("resnet50-imagenet.json", RESNET50, _IMAGENET,
              f"{_RESNET50} imagenet200 --count 30"),
    Evaluated("resnet-imagenette.json", RESNET, "validation photos of imagenette64.zip",
              f"{_SMALL} 'imagenette64/val/*/*.jpg' --count 50"),
)  # fmt: skip
"""What the network needs, sanity checks, flicker. The study leaves both ResNets in its folder."""
PLUSPLUS = Evaluated("lite0-gradcampp.json", f"{LITE0} with Grad-CAM++", _IMAGENET,
                     f"{_LITE0} imagenet200 --count 50 --cam gradcam++")  # fmt: skip
"""The sanity checks of the paper's class map."""
OBJECTS = tuple(
    Evaluated(f"{short}-{data}.json", network, pictures, f"{command} {options}")
    for data, pictures, options in (
        ("coco", "photos of coco80.zip", "coco80/photos --boxes coco80/instances.json --no-sanity"),
        ("pets", "photos of pets185.zip",
         "pets185/original --boxes pets185/annotations/trimaps --count 60 --no-sanity"),
    )
    for short, network, command in (("lite0", LITE0, _LITE0), ("mobilenet", MOBILENET, _MOBILENET))
)  # fmt: skip
EVALUATIONS = tuple(one.file for one in (*PICTURES, PLUSPLUS, *OBJECTS))
