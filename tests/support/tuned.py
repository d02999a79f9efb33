"""Tuning with simulated times, and its results on `small_cnn`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from fastcam_export.tune import Tuning, Workbench
from fastcam_runtime.contract import PREPROCESS
from fastcam_runtime.measure.paired import BenchOptions, Variant

SHAPES = [(1, 8, 32, 32), (1, 12, 16, 16), (1, 16, 8, 8)]
CHEAPER = ["half-1", "half-1-2", "quarter-1-2", "without-1", "without-1+half-2",
           "without-1+quarter-2", "without-1-2"]  # fmt: skip
PLAIN = 10.0
Measure = Callable[[Sequence[Variant], int, Callable[[int], None]], None]


def clock(costs: Mapping[str, float], otherwise: float = 1.0) -> Measure:
    """Simulates times: the plain network 10 ms, each form its cost more, ±10 %.

    In CPU time a form costs twice as much.
    """

    def measure(variants: Sequence[Variant], rounds: int, progress: Callable[[int], None]) -> None:
        spread = np.linspace(0.9, 1.1, rounds)
        for variant in variants:
            cost = 0 if variant.name == "plain" else costs.get(variant.name, otherwise)
            variant.samples = (PLAIN + cost * spread).tolist()
            variant.cpu_samples = (PLAIN + 2 * cost * spread).tolist()
        for number in range(rounds):
            progress(number)

    return measure


def workbench(model: Path, pictures: Sequence[np.ndarray], measure: Measure, **options: object) -> Workbench:
    settings = BenchOptions(
        threads=1, provider="cpu", rounds=9, compiled=bool(options.pop("compiled", False))
    )
    return Workbench(model, options, pictures, settings, measure)


def names(tuning: Tuning) -> list[str]:
    return [one.form.name for one in tuning.measured]


def maps(model: onnx.ModelProto, pictures: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The maps of a graft by onnxruntime alone, without the runtime of this project."""
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    imagenet = PREPROCESS["imagenet"]
    found = []
    for picture in pictures:
        x = ((picture[..., ::-1] - np.array(imagenet.mean)) / imagenet.std).transpose(2, 0, 1)[None]
        found.append(session.run(["saliency_map"], {name: x.astype(np.float32)})[0][0])
    return found


def overlap(a: np.ndarray, b: np.ndarray) -> float:
    count = round(a.size / 10)
    first, second = (set(sorted(range(m.size), key=lambda i, m=m: -m.flat[i])[:count]) for m in (a, b))
    return len(first & second) / count
