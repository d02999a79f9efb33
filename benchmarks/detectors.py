"""Public detectors: does fastcam find the same as their publishers' own programs?

    python -m benchmarks.detectors [FOLDER …] [--photos ZIP_OR_FOLDER] [--json FILE]

For every file in the folders that `PUBLICATIONS` knows: the layout and family that were recognised, the
overlap of the best detection with the publisher's own program (`detector_publishers.py`), whether the graft
changed an output, and how often the class map has its maximum inside a box of its class.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import onnxruntime as ort
from fastcam_export import export
from fastcam_runtime import Explainer
from fastcam_runtime.errors import FastcamError
from fastcam_runtime.explanation import Explanation
from fastcam_runtime.image import Array
from fastcam_runtime.text import format_table

from .compared.detector_publishers import PUBLISHERS
from .paths import SHARED

SURE = 0.5
"""The lowest score of a publisher's best detection that counts."""
LEAST_IOU, LEAST_PEAKS = 0.9, 0.9


@dataclass(frozen=True)
class Publication:
    """Where a file comes from, and whose decoding it is compared with."""

    source: str
    publisher: str
    options: dict[str, Any] = field(default_factory=dict)


_ULTRAFACE = "Linzaer/Ultra-Light-Fast-Generic-Face-Detector-1MB"
PUBLICATIONS = {
    "yolox_nano.onnx": Publication("Megvii-BaseDetection/YOLOX", "yolox"),
    "yunet_n_640.onnx": Publication("ShiqiYu/libfacedetection.train", "yunet"),
    "RFB-320.onnx": Publication(_ULTRAFACE, "ultraface"),
    "uf-RFB-640.onnx": Publication(_ULTRAFACE, "ultraface"),
    "uf-slim-320.onnx": Publication(_ULTRAFACE, "ultraface"),
    "uf-slim-320_simplified.onnx": Publication(_ULTRAFACE, "ultraface"),
    "nudenet_320n.onnx": Publication("PyPI nudenet", "ultralytics", {"input_shape": (1, 3, 320, 320)}),
    "nanodet.onnx": Publication("hpc203/nanodet-opncv-dnn-cpp-python", "nanodet"),
    "nanodet_m.onnx": Publication("hpc203/nanodet-opncv-dnn-cpp-python", "nanodet"),
    "picodet_s_320.onnx": Publication("hpc203/picodet-onnxruntime", "picodet"),
    "picodet_s_416.onnx": Publication("hpc203/picodet-onnxruntime", "picodet"),
    "scrfd_500m.onnx": Publication("hpc203/scrfd-opencv", "scrfd"),
    "scrfd_2.5g.onnx": Publication("hpc203/scrfd-opencv", "scrfd"),
    "FastestDet.onnx": Publication("dog-qiuqiu/FastestDet", "fastestdet"),
}
"""By file name. The files of a repository or package are saved under these names."""


@dataclass
class FileComparison:
    """The result for one file."""

    file: str
    origin: str
    layout: str = ""
    family: str = ""
    ious: list[float] = field(default_factory=list)
    """IoU of the best detections; each program resizes the photo in its own way."""
    same_pixels: list[float] = field(default_factory=list)
    """IoU with the publisher's resizing for both: it tests only the decoding."""
    same_class: list[bool] = field(default_factory=list)
    peaks: list[bool] = field(default_factory=list)
    changed: float = 0.0
    error: str = ""

    @property
    def holds(self) -> bool:
        return (
            not self.error
            and len(self.ious) >= 3
            and float(np.median(self.same_pixels)) >= LEAST_IOU
            and float(np.mean(self.peaks)) >= LEAST_PEAKS
        )


def photos(place: Path) -> Iterator[Array]:
    """The photos of a folder or an archive."""
    if place.suffix == ".zip":
        with zipfile.ZipFile(place) as archive:
            for name in sorted(archive.namelist()):
                if name.endswith((".jpg", ".png")):
                    data = np.frombuffer(archive.read(name), np.uint8)
                    photo = cv2.imdecode(data, cv2.IMREAD_COLOR)
                    if photo is not None:
                        yield photo
        return
    for path in sorted(place.glob("*.*")):
        photo = cv2.imread(str(path))
        if photo is not None:
            yield photo


def measure(path: Path, origin: Publication, place: Path, wanted: int) -> FileComparison:
    """Compare one file on the first `wanted` photos with a confident detection by its publisher's program."""
    row = FileComparison(path.name, origin.source)
    with tempfile.TemporaryDirectory() as folder:
        grafted = Path(folder) / "grafted.onnx"
        try:
            metadata = export(path, grafted, outputs="cam", **origin.options).metadata
        except FastcamError as error:
            row.error = str(error)
            return row
        if metadata.detector is None:
            row.error = "no detector recognised"
            return row
        row.layout = f"{metadata.detector.layout}, {metadata.detector.decode}"
        row.family = metadata.detector.family
        quiet = ort.SessionOptions()
        quiet.log_severity_level = 3
        plain = ort.InferenceSession(str(path), quiet, providers=["CPUExecutionProvider"])
        explain = Explainer(grafted, threads=1)
        for photo in photos(place):
            boxes, scores, classes = PUBLISHERS[origin.publisher](photo, plain)
            best = int(scores.argmax())
            if scores[best] < SURE:
                continue
            explanation = explain(photo)
            near = max(explanation.detections, key=lambda found: _iou(found.box, boxes[best]), default=None)
            row.ious.append(_iou(near.box, boxes[best]) if near is not None else 0.0)
            row.same_pixels.append(_same_pixels(explain, photo, explanation, boxes[best]))
            row.same_class.append(near is not None and near.index == int(classes[best]))
            if explanation.detections:
                row.peaks.append(_peak_inside(explanation))
            row.changed = max(row.changed, _changed(plain, explain, photo))
            if len(row.ious) == wanted:
                break
    return row


def _same_pixels(explain: Explainer, photo: Array, explanation: Explanation, box: Array) -> float:
    placed = explanation.geometry.placed
    small = cv2.resize(photo, (placed.width, placed.height), interpolation=cv2.INTER_LINEAR)
    scale = np.tile([photo.shape[1] / placed.width, photo.shape[0] / placed.height], 2)
    return max((_iou(found.box * scale, box) for found in explain(small).detections), default=0.0)


def _iou(found: Array | tuple[float, ...], box: Array) -> float:
    a = np.array(found)
    sides = np.minimum(a[2:], box[2:]) - np.maximum(a[:2], box[:2])
    common = float(np.prod(np.maximum(sides, 0)))
    both = float(np.prod(a[2:] - a[:2]) + np.prod(box[2:] - box[:2]) - common)
    return round(common / both, 4)


def _peak_inside(explanation: Explanation) -> bool:
    """Whether the class map has its maximum inside a box of its class."""
    part = explanation.geometry.undo(explanation.maps["saliency_cam"])
    row, column = np.unravel_index(int(part.argmax()), part.shape)
    seen = explanation.geometry.seen
    x = seen.x + (column + 0.5) * seen.width / part.shape[1]
    y = seen.y + (row + 0.5) * seen.height / part.shape[0]
    return any(d.contains(x, y) for d in explanation.detections if d.index == explanation.index)


def _changed(plain: ort.InferenceSession, explain: Explainer, photo: Array) -> float:
    """The largest difference of an original output between the plain file and the grafted one."""
    tensor = explain.preprocess(photo).values
    names = [output.name for output in plain.get_outputs()]
    before = plain.run(names, {plain.get_inputs()[0].name: tensor})
    after = explain.model.session(["cam"]).run(names, {plain.get_inputs()[0].name: tensor})
    return max(float(np.abs(a - b).max()) for a, b in zip(before, after, strict=True))


def table(rows: list[FileComparison]) -> str:
    """The rows for a person."""
    lines = [
        [
            row.file,
            row.origin,
            row.family or "-",
            row.layout or row.error[:60],
            str(len(row.ious)),
            f"{np.median(row.ious):.3f}" if row.ious else "-",
            f"{np.median(row.same_pixels):.3f}" if row.same_pixels else "-",
            f"{min(row.same_pixels):.3f}" if row.same_pixels else "-",
            f"{np.mean(row.peaks):.0%}" if row.peaks else "-",
            f"{row.changed:.0e}",
            "yes" if row.holds else "NO",
        ]
        for row in rows
    ]
    head = ["file", "origin", "family", "head", "photos", "IoU", "same pixels", "least", "peak", "changed"]
    return format_table([*head, "holds"], lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path, default=[], metavar="FOLDER")
    parser.add_argument("--photos", type=Path, default=SHARED / "data" / "coco80.zip", metavar="PLACE")
    parser.add_argument("--count", type=int, default=10, metavar="N", help="photos per file (%(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    folders = options.folders or [SHARED / "models" / "detectors"]
    found = {path.name: path for folder in folders for path in sorted(folder.glob("*.onnx"))}
    rows = []
    for name, origin in PUBLICATIONS.items():
        if name in found:
            print(f"{name} …", file=sys.stderr, flush=True)
            rows.append(measure(found[name], origin, options.photos, options.count))
    print(table(rows))
    missing = ", ".join(name for name in PUBLICATIONS if name not in found)
    if missing:
        print(f"not there: {missing}")
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    return int(not all(row.holds for row in rows))


if __name__ == "__main__":
    sys.exit(main())
