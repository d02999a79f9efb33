"""The results of an evaluation, picture by picture, and their means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .bootstrap import Estimate, estimate
from .flicker import Flicker
from .metrics import METRICS


@dataclass(frozen=True)
class PictureResult:
    """One picture: the class that the network sees, and the figures of every map and control."""

    name: str
    label: str
    probability: float
    methods: dict[str, dict[str, float]]
    """The figures of `METRICS` by method."""
    edges: dict[str, float]
    """The rank correlation of each map with the edge filter."""
    classes: dict[str, float]
    """The rank correlation of each class map with that of a random other class."""


@dataclass(frozen=True)
class Example:
    """A picture to show: BGR, with the evaluated map."""

    name: str
    label: str
    score: float
    picture: NDArray[np.uint8]
    saliency: NDArray[np.float32]


@dataclass
class Evaluation:
    """All results; incomplete if the evaluation was stopped."""

    file: str
    setup: dict[str, Any]
    """How it was measured: levels, baselines, versions."""
    methods: tuple[str, ...] = ()
    """The maps of the file first, then the controls."""
    maps: tuple[str, ...] = ()
    pictures: list[PictureResult] = field(default_factory=list)
    curves: dict[str, dict[str, NDArray[np.float64]]] = field(default_factory=dict)
    """The sums over pictures of the insertion and deletion curves, by kind and method."""
    sanity: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    """By step of the cascade and map: the rank correlation with the trained map, picture by picture."""
    other_picture: dict[str, list[float]] = field(default_factory=dict)
    """The rank correlation with the map of another picture: the level of unrelated maps."""
    flicker: dict[str, Flicker] = field(default_factory=dict)
    best: list[Example] = field(default_factory=list)
    worst: list[Example] = field(default_factory=list)
    stopped: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def reference(self) -> str:
        """The map that the others are compared with: `saliency_map` if the file has it."""
        return self.maps[0]

    def values(self, metric: str, method: str) -> list[float]:
        """The metric's value for every picture that has it."""
        return [p.methods[method][metric] for p in self.pictures if metric in p.methods.get(method, {})]

    def mean(self, metric: str, method: str) -> Estimate:
        """The mean over the pictures, with its interval."""
        return estimate(self.values(metric, method))

    def difference(self, metric: str, method: str) -> Estimate:
        """The mean of the differences to the reference, picture by picture."""
        pairs = zip(self.values(metric, method), self.values(metric, self.reference), strict=True)
        return estimate([one - other for one, other in pairs])

    def measured(self, metrics: Sequence[str] = tuple(METRICS)) -> list[str]:
        """The metrics that at least one picture has."""
        return [metric for metric in metrics if self.values(metric, self.reference)]

    def curve(self, kind: str, method: str) -> NDArray[np.float64]:
        """The mean insertion or deletion curve."""
        return self.curves[kind][method] / len(self.pictures)

    def as_dict(self) -> dict[str, Any]:
        """Everything but the example pictures, for a JSON file."""
        return {
            "file": self.file,
            "setup": self.setup,
            "stopped": self.stopped,
            "notes": self.notes,
            "summary": {
                method: {
                    metric: {
                        **asdict(self.mean(metric, method)),
                        "difference": asdict(self.difference(metric, method)),
                    }
                    for metric in self.measured()
                }
                for method in self.methods
            },
            "sanity": {
                step: {name: asdict(estimate(values)) for name, values in maps.items()}
                for step, maps in self.sanity.items()
            },
            "other_picture": {name: asdict(estimate(values)) for name, values in self.other_picture.items()},
            "edges": {name: asdict(estimate(self._of("edges", name))) for name in self.maps},
            "class_dependence": {
                name: asdict(estimate(self._of("classes", name)))
                for name in self.maps
                if self._of("classes", name)
            },
            "flicker": {name: asdict(values) for name, values in self.flicker.items()},
            "curves": {
                kind: {method: self.curve(kind, method).round(6).tolist() for method in methods}
                for kind, methods in self.curves.items()
            },
            "pictures": [asdict(picture) for picture in self.pictures],
        }

    def edges(self, name: str) -> Estimate:
        """The agreement of a map with the edge filter."""
        return estimate(self._of("edges", name))

    def class_dependence(self, name: str) -> Estimate | None:
        """The agreement of a class map with that of another class; None for maps without a class."""
        values = self._of("classes", name)
        return estimate(values) if values else None

    def _of(self, what: str, name: str) -> list[float]:
        return [getattr(p, what)[name] for p in self.pictures if name in getattr(p, what)]
