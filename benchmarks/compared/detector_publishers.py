"""How the publishers of detectors feed and decode them, after their own example programs.

Independent of the runtime's code, one function per family: `benchmarks/detectors.py` compares with it. Every
function takes a BGR photo and a session, and returns boxes in pixels of the photo (left, top, right, bottom),
scores and classes, before non-maximum suppression.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
from fastcam_runtime.image import Array

Found = tuple[Array, Array, Array]
"""Boxes [M,4], scores [M], classes [M]."""


def yolox(photo: Array, session: Any) -> Found:
    """Megvii's `demo/ONNXRuntime`: BGR 0…255, grey bars at the right and below."""
    padded, ratio = _into_corner(photo, _size(session), 114)
    rows = _run(session, padded.astype(np.float32))[0][0].copy()
    at = 0
    for stride in (8, 16, 32):
        side = _size(session)[0] // stride
        for y in range(side):
            for x in range(side):
                rows[at, 0], rows[at, 1] = (rows[at, 0] + x) * stride, (rows[at, 1] + y) * stride
                rows[at, 2:4] = np.exp(rows[at, 2:4]) * stride
                at += 1
    scores = rows[:, 4:5] * rows[:, 5:]
    return _from_centre(rows[:, :4]) / ratio, scores.max(1), scores.argmax(1)


def ultralytics(photo: Array, session: Any) -> Found:
    """Ultralytics' `examples/YOLOv8-ONNXRuntime`: RGB 0…1, grey bars on both sides."""
    height, width = _size(session)
    ratio = min(height / photo.shape[0], width / photo.shape[1])
    new = round(photo.shape[1] * ratio), round(photo.shape[0] * ratio)
    left, top = (width - new[0]) / 2, (height - new[1]) / 2
    small = cv2.resize(photo, new, interpolation=cv2.INTER_LINEAR)
    edges = (round(top - 0.1), round(top + 0.1), round(left - 0.1), round(left + 0.1))
    padded = cv2.copyMakeBorder(small, *edges, cv2.BORDER_CONSTANT, value=(114, 114, 114))
    columns = _run(session, padded[:, :, ::-1].astype(np.float32) / 255)[0][0]
    boxes = _from_centre(columns[:4].T) - [edges[2], edges[0]] * 2
    return boxes / ratio, columns[4:].max(0), columns[4:].argmax(0)


def ultraface(photo: Array, session: Any) -> Found:
    """Linzaer's `run_video_face_detect_onnx.py`: RGB (x − 127)/128, stretched; boxes are fractions."""
    height, width = _size(session)
    small = cv2.resize(cv2.cvtColor(photo, cv2.COLOR_BGR2RGB), (width, height))
    scores, boxes = _run(session, (small.astype(np.float32) - 127) / 128)
    if boxes.mean() < 0.2:  # a file without post-processing: offsets, not positions
        boxes = _ultraface_priors(boxes, (height, width))
    whole = np.tile([photo.shape[1], photo.shape[0]], 2)
    return boxes[0] * whole, scores[0, :, 1], np.zeros(len(boxes[0]), int)


def _ultraface_priors(raw: Array, size: tuple[int, int]) -> Array:
    """`box_utils.convert_locations_to_boxes` for the files without post-processing."""
    priors = []
    for sides, stride in zip(
        [[10, 16, 24], [32, 48], [64, 96], [128, 192, 256]], (8, 16, 32, 64), strict=True
    ):
        for j in range(-(-size[0] // stride)):
            for i in range(-(-size[1] // stride)):
                for side in sides:
                    x, y = (i + 0.5) * stride / size[1], (j + 0.5) * stride / size[0]
                    priors.append([x, y, side / size[1], side / size[0]])
    prior = np.clip(np.array(priors), 0, 1)
    centre = raw[0, :, :2] * 0.1 * prior[:, 2:] + prior[:, :2]
    sides = np.exp(raw[0, :, 2:] * 0.2) * prior[:, 2:]
    return np.concatenate([centre - sides / 2, centre + sides / 2], 1)[None]


def yunet(photo: Array, session: Any) -> Found:
    """OpenCV's `FaceDetectorYN`: BGR 0…255; the score is the root of class times objectness."""
    padded, ratio = _into_corner(photo, _size(session), 0)
    names = [output.name for output in session.get_outputs()]
    found = dict(zip(names, _run(session, padded.astype(np.float32)), strict=True))
    boxes, scores = [], []
    for stride in (8, 16, 32):
        cls, obj, box = (found[f"{kind}_{stride}"][0] for kind in ("cls", "obj", "bbox"))
        columns = _size(session)[1] // stride
        for k in range(len(box)):
            y, x = divmod(k, columns)
            cx, cy = (x + box[k, 0]) * stride, (y + box[k, 1]) * stride
            w, h = np.exp(box[k, 2]) * stride, np.exp(box[k, 3]) * stride
            boxes.append([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2])
            scores.append(np.sqrt(np.clip(cls[k, 0], 0, 1) * np.clip(obj[k, 0], 0, 1)))
    return np.array(boxes) / ratio, np.array(scores), np.zeros(len(boxes), int)


def scrfd(photo: Array, session: Any) -> Found:
    """InsightFace's `scrfd.py`: RGB (x − 127.5)/128 in the corner, two anchors per cell, distances."""
    padded, ratio = _into_corner(photo, _size(session), 0)
    found = _run(session, (padded[:, :, ::-1].astype(np.float32) - 127.5) / 128)
    boxes, scores = [], []
    for k, stride in enumerate((8, 16, 32)):
        side = _size(session)[0] // stride
        y, x = np.divmod(np.arange(side * side), side)
        centres = np.repeat(np.stack([x, y], axis=1) * stride, 2, axis=0)
        distance = found[k + 3][0] * stride
        boxes.append(np.concatenate([centres - distance[:, :2], centres + distance[:, 2:]], 1))
        scores.append(found[k][0][:, 0])
    return np.concatenate(boxes) / ratio, np.concatenate(scores), np.zeros(sum(map(len, scores)), int)


def nanodet(photo: Array, session: Any) -> Found:
    """RangiLyu's `demo_ncnn`/`demo_openvino`: BGR, mean and deviation, black bars on both sides."""
    height, width = _size(session)
    ratio = min(height / photo.shape[0], width / photo.shape[1])
    new = int(photo.shape[1] * ratio), int(photo.shape[0] * ratio)
    left, top = (width - new[0]) // 2, (height - new[1]) // 2
    padded = np.zeros((height, width, 3), np.uint8)
    padded[top : top + new[1], left : left + new[0]] = cv2.resize(photo, new)
    tensor = (padded.astype(np.float32) - [103.53, 116.28, 123.675]) / [57.375, 57.12, 58.395]
    boxes, scores = _integral(session, tensor, centre=lambda s: (s - 1) / 2)
    boxes = (boxes - [left, top] * 2) / ratio
    return boxes, scores.max(1), scores.argmax(1)


def picodet(photo: Array, session: Any) -> Found:
    """PaddleDetection's deployment: RGB of ImageNet's mean and deviation, stretched."""
    height, width = _size(session)
    small = cv2.resize(photo[:, :, ::-1], (width, height), interpolation=cv2.INTER_CUBIC)
    tensor = (small / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
    boxes, scores = _integral(session, tensor, centre=lambda s: s / 2)
    return (
        boxes * np.tile([photo.shape[1] / width, photo.shape[0] / height], 2),
        scores.max(1),
        scores.argmax(1),
    )


def _integral(session: Any, tensor: Array, centre: Callable[[int], float]) -> tuple[Array, Array]:
    """Generalised focal loss: distances as expectations of a distribution of eight."""
    found = [value.reshape(-1, value.shape[-1]) for value in _run(session, tensor.astype(np.float32))]
    scores = sorted((v for v in found if v.shape[1] != 32), key=len, reverse=True)
    raw = sorted((v for v in found if v.shape[1] == 32), key=len, reverse=True)
    width = _size(session)[1]
    boxes = []
    for k, values in enumerate(raw):
        stride = 8 << k
        columns = -(-width // stride)
        for row, value in enumerate(values):
            y, x = divmod(row, columns)
            cx, cy = x * stride + centre(stride), y * stride + centre(stride)
            spread = np.exp(value.reshape(4, 8))
            left, top, right, bottom = (spread / spread.sum(1, keepdims=True)) @ np.arange(8) * stride
            boxes.append([cx - left, cy - top, cx + right, cy + bottom])
    return np.array(boxes), np.concatenate(scores)


def fastestdet(photo: Array, session: Any) -> Found:
    """dog-qiuqiu's `example/onnx-runtime/runtime.py`: BGR 0…1, stretched, one grid."""
    height, width = _size(session)
    small = cv2.resize(photo, (width, height), interpolation=cv2.INTER_AREA)
    grid = _run(session, small.astype(np.float32) / 255)[0][0]
    _, rows, columns = grid.shape
    boxes, scores, classes = [], [], []
    for y in range(rows):
        for x in range(columns):
            data = grid[:, y, x]
            cx, cy = (np.tanh(data[1]) + x) / columns, (np.tanh(data[2]) + y) / rows
            w, h = 1 / (1 + np.exp(-data[3])), 1 / (1 + np.exp(-data[4]))
            boxes.append([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2])
            scores.append(data[0] ** 0.6 * data[5:].max() ** 0.4)
            classes.append(data[5:].argmax())
    return np.array(boxes) * np.tile([photo.shape[1], photo.shape[0]], 2), np.array(scores), np.array(classes)


PUBLISHERS: dict[str, Callable[[Array, Any], Found]] = {
    "yolox": yolox,
    "ultralytics": ultralytics,
    "ultraface": ultraface,
    "yunet": yunet,
    "scrfd": scrfd,
    "nanodet": nanodet,
    "picodet": picodet,
    "fastestdet": fastestdet,
}


def _size(session: Any) -> tuple[int, int]:
    shape = session.get_inputs()[0].shape
    height, width = (side if isinstance(side, int) else 320 for side in shape[2:])
    return height, width


def _run(session: Any, picture: Array) -> list[Array]:
    """The outputs for a picture of height × width × channels."""
    tensor = np.ascontiguousarray(picture.transpose(2, 0, 1)[None], dtype=np.float32)
    found: list[Array] = session.run(None, {session.get_inputs()[0].name: tensor})
    return found


def _into_corner(photo: Array, size: tuple[int, int], grey: int) -> tuple[Array, float]:
    ratio = min(size[0] / photo.shape[0], size[1] / photo.shape[1])
    new = int(photo.shape[1] * ratio), int(photo.shape[0] * ratio)
    padded = np.full((*size, 3), grey, np.uint8)
    padded[: new[1], : new[0]] = cv2.resize(photo, new, interpolation=cv2.INTER_LINEAR)
    return padded, ratio


def _from_centre(boxes: Array) -> Array:
    return np.concatenate([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2], 1)
