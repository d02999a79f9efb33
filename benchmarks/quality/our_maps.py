"""Our maps of a network, each variant from its own file, and the candidates computed from their parts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import fastcam_export
import numpy as np
import onnxruntime as ort
from fastcam_export.evaluate.controls import Map
from fastcam_export.evaluate.measures.masks import ranking
from fastcam_runtime.contract import CAM, FASTCAM, MAP, METADATA_KEY, SCALE_PREFIX, Metadata
from numpy.typing import NDArray

from . import study_plan


class OurMaps:
    """All variants of a plain network's maps.

    Args:
        path: The plain network.
        threads: Threads of onnxruntime.
    """

    def __init__(self, path: Path, threads: int) -> None:
        self._threads = threads
        self._variants = {
            name: self._open(path, outputs="saliency_map", **options)
            for name, options in study_plan.OURS.items()
        }
        self._cams = {
            name: self._open(path, outputs="scales,cam,fastcam", cam=cam)
            for name, cam in study_plan.CAMS.items()
        }
        text = self._cams["Grad-CAM"].get_modelmeta().custom_metadata_map[METADATA_KEY]
        self._weights = [tap.weight for tap in Metadata.from_json(text).taps]

    def __call__(self, tensor: NDArray[np.float32]) -> dict[str, Map]:
        """The maps of one picture, C×H×W in the network's values, by the names of the plan."""
        found = {name: _run(session, [MAP], tensor)[0] for name, session in self._variants.items()}
        for name, session in self._cams.items():
            found[name], found[f"map × {name}"] = _run(session, [CAM, FASTCAM], tensor)
        session = self._cams["Grad-CAM"]
        names = [o.name for o in session.get_outputs() if o.name.startswith(SCALE_PREFIX)]
        scales = _run(session, names, tensor)
        return found | self._candidates(found["saliency_map"], scales, found["Grad-CAM"])

    def _candidates(self, saliency: Map, scales: list[Map], cam: Map) -> dict[str, Map]:
        size = saliency.shape
        blurred = [cv2.GaussianBlur(scales[0], (0, 0), study_plan.FIRST_SCALE_BLUR), *scales[1:]]
        logs = [np.log(np.maximum(scale, 1e-6)) for scale in scales]
        geometric = np.exp(weighted_mean(logs, self._weights, size))
        ranks = [1 - ranking(values) / values.size for values in (saliency, cam)]
        return {
            "map × √Grad-CAM": saliency * np.sqrt(cam),
            "rank average": np.asarray((ranks[0] + ranks[1]) / 2, np.float32),
            "geometric mean": geometric,
            "geometric × Grad-CAM": geometric * cam,
            "first scale blurred": weighted_mean(blurred, self._weights, size),
        }

    def _open(self, path: Path, **options: Any) -> ort.InferenceSession:
        settings = ort.SessionOptions()
        settings.intra_op_num_threads = self._threads
        data = fastcam_export.graft(path, **options).SerializeToString()
        return ort.InferenceSession(data, settings, providers=["CPUExecutionProvider"])


def weighted_mean(scales: Sequence[Map], weights: Sequence[float], size: tuple[int, ...]) -> Map:
    """The weighted mean of the scales' maps, upsampled to `size` (H, W) as in the graph."""
    large = [cv2.resize(scale, size[::-1], interpolation=cv2.INTER_LINEAR) for scale in scales]
    return np.asarray(np.average(large, axis=0, weights=weights), np.float32)


def _run(session: ort.InferenceSession, names: list[str], tensor: NDArray[np.float32]) -> list[Map]:
    feed = {session.get_inputs()[0].name: tensor[None]}
    return [np.asarray(array[0], np.float32) for array in session.run(names, feed)]
