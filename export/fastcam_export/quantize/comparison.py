"""The int8 network beside the float32 one: classes, maps, size and time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from fastcam_runtime import Explainer
from fastcam_runtime.contract import MAP
from fastcam_runtime.image import Array, Image
from fastcam_runtime.measure import paired as bench
from fastcam_runtime.text import format_table

from ..tune.fidelity import Fidelity

KINDS = ("float32", "int8")
WITH_MAPS = " with maps"


@dataclass(frozen=True)
class Comparison:
    """How the two agree on held-out pictures."""

    pictures: int
    same_class: int
    """Pictures for which both name the same class first."""
    fidelity: Fidelity
    bytes: Mapping[str, int]
    """File size by `float32` and `int8`."""
    times_ms: Mapping[str, Sequence[float]]
    """The time of every round, by `float32`, `int8`, and both `with maps`."""
    cpu_ms: Mapping[str, Sequence[float]]
    """The same rounds in processor time of all threads."""

    def as_dict(self) -> dict[str, Any]:
        """Everything in plain types."""
        names = ("rank_correlation", "top_10_percent_overlap")
        return {
            "held_out_pictures": self.pictures,
            "top1_agreement": self.same_class / self.pictures,
            "map_mean": dict(zip(names, self.fidelity.mean, strict=True)),
            "map_worst": dict(zip(names, self.fidelity.worst, strict=True)),
            "bytes": dict(self.bytes),
            "median_ms": _medians(self.times_ms),
            "median_cpu_ms": _medians(self.cpu_ms),
            "samples_ms": {name: list(times) for name, times in self.times_ms.items()},
            "cpu_samples_ms": {name: list(times) for name, times in self.cpu_ms.items()},
        }

    def __str__(self) -> str:
        rows = [["file", *(f"{self.bytes[kind] / 1e6:.2f} MB" for kind in KINDS)]]
        for title, ending in (("time per picture", ""), ("with saliency_map", WITH_MAPS)):
            for clock, samples in (("", self.times_ms), (", processor", self.cpu_ms)):
                times = _medians(samples)
                rows.append([title + clock, *(f"{times[kind + ending]:.2f} ms" for kind in KINDS)])
        (rank, overlap), (worst_rank, worst_overlap) = self.fidelity.mean, self.fidelity.worst
        return "\n".join(
            [
                format_table(["", *KINDS], rows),
                f"on {self.pictures} pictures that the calibration did not see:",
                f"  same class first      {self.same_class} of {self.pictures}",
                f"  map, rank correlation {rank:.3f} on average, {worst_rank:.3f} at worst",
                f"  map, top-10 % overlap {overlap:.0%} on average, {worst_overlap:.0%} at worst",
            ]
        )


def compare(
    plain: Mapping[str, Path],
    grafted: Mapping[str, Path],
    pictures: Sequence[Image],
    options: bench.BenchOptions,
) -> Comparison:
    """Run the files `float32` and `int8`, plain and grafted, on at least one picture; time them in turns."""
    answers = {name: _answers(path, pictures, options) for name, path in grafted.items()}
    same = sum(a == b for a, b in zip(answers["float32"][0], answers["int8"][0], strict=True))
    fidelity = Fidelity.between(answers["float32"][1], answers["int8"][1])
    files = {**plain, **{name + WITH_MAPS: path for name, path in grafted.items()}}
    variants = [bench.open_variant(name, path, options) for name, path in files.items()]
    bench.measure(variants, options.rounds)
    sizes = {name: path.stat().st_size for name, path in plain.items()}
    times = {variant.name: tuple(variant.samples) for variant in variants}
    cpu = {variant.name: tuple(variant.cpu_samples) for variant in variants}
    return Comparison(len(pictures), same, fidelity, sizes, times, cpu)


def _medians(samples: Mapping[str, Sequence[float]]) -> dict[str, float]:
    return {name: float(np.median(times)) for name, times in samples.items()}


def _answers(
    path: Path, pictures: Sequence[Image], options: bench.BenchOptions
) -> tuple[list[int], list[Array]]:
    """The first class and the map of every picture."""
    explain = Explainer(path, options.threads, options.provider, ["saliency_map"], compiled=options.compiled)
    classes, maps = [], []
    for picture in pictures:
        result = explain(picture)
        classes.append(int(np.argmax(result.logits)))
        maps.append(np.array(result.geometry.undo(result.maps[MAP])))
    return classes, maps
