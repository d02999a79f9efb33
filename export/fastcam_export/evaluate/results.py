"""The results of an evaluation, picture by picture, and their means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .bootstrap import Estimate, Estimates
from .measures.agreement import Agreements, known, known_pairs
from .measures.flicker import Flicker
from .metrics import METRICS


@dataclass(frozen=True)
class PictureResult:
    """One picture: the class that the network sees, and the figures of every map and control."""

    name: str
    label: str
    probability: float | None
    """None, and the label is empty, if the network gives no class scores."""
    methods: dict[str, dict[str, float]]
    """The figures of `METRICS` by method."""
    edges: dict[str, float | None]
    """The rank correlation of each map with the edge filter; None for a constant map."""
    classes: dict[str, float | None]
    """The rank correlation of each class map with that of a random other class; None if one is constant."""
    curves: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    """The insertion and deletion curves, by kind and method."""


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
    sanity: dict[str, dict[str, Agreements]] = field(default_factory=dict)
    """By step of the cascade and map: the rank correlation with the trained map, picture by picture."""
    other_picture: dict[str, Agreements] = field(default_factory=dict)
    """The same with the map of another picture: the level of unrelated maps."""
    flicker: dict[str, Flicker] = field(default_factory=dict)
    best: list[Example] = field(default_factory=list)
    worst: list[Example] = field(default_factory=list)
    stopped: bool = False
    notes: list[str] = field(default_factory=list)
    estimates: Estimates = field(default_factory=Estimates, repr=False, compare=False)
    """Of the figures above: the table, the page and the JSON share them."""

    @property
    def reference(self) -> str:
        """The map that the others are compared with: `saliency_map` if the file has it."""
        return self.maps[0]

    def values(self, metric: str, method: str) -> list[float]:
        """The metric's value for every picture that has it."""
        return [p.methods[method][metric] for p in self.pictures if metric in p.methods.get(method, {})]

    def mean(self, metric: str, method: str) -> Estimate:
        """The mean over the pictures, with its interval."""
        return self.estimates.of(self.values(metric, method))

    def difference(self, metric: str, method: str, other: str | None = None) -> Estimate:
        """The mean of the differences to the reference, or to another method, picture by picture."""
        reference = self.values(metric, other or self.reference)
        return self.estimates.of_difference(self.values(metric, method), reference)

    def measured(self, metrics: Sequence[str] = tuple(METRICS)) -> list[str]:
        """The metrics that at least one picture has."""
        return [metric for metric in metrics if self.values(metric, self.reference)]

    def curve(self, kind: str, method: str) -> NDArray[np.float64]:
        """The mean insertion or deletion curve."""
        rows = np.array([p.curves[kind][method] for p in self.pictures if kind in p.curves], np.float64)
        return np.asarray(rows.mean(axis=0))

    def checks(self) -> dict[str, dict[str, Agreements]]:
        """The rank correlations of each map with …, picture by picture: by what, and by map."""
        found = {f"itself, weights shuffled: {step}": maps for step, maps in self.sanity.items()}
        found["that of another picture"] = self.other_picture
        found["the edge filter"] = {name: self.of("edges", name) for name in self.maps}
        found["itself for a random class"] = {name: self.of("classes", name) for name in self.maps}
        return {what: maps for what, maps in found.items() if any(maps.values())}

    def left_out(self) -> list[str]:
        """A sentence on the pictures with a map that the checks leave out; none if all count."""
        found = []
        for what, maps in self.checks().items():
            counts = [
                f"{name} {values.count(None)} of {len(values)}"
                for name, values in maps.items()
                if None in values
            ]
            if counts:
                found.append(f"{what} ({', '.join(counts)})")
        told = (
            "pictures with a constant map, which shows nothing, or one that is not finite are left out of "
            "the rank correlations with "
        )
        return [told + "; ".join(found)] if found else []

    def class_dependence(self, name: str) -> Estimate | None:
        """The agreement of a class map with that of another class; None for maps without a class."""
        values = self.of("classes", name)
        return self.estimates.of(known(values)) if values else None

    def edges(self, name: str) -> Estimate:
        """The agreement of a map with the edge filter."""
        return self.estimates.of(known(self.of("edges", name)))

    def compare(
        self, values: Sequence[float | None], reference: Sequence[float | None]
    ) -> tuple[Estimate, Estimate | None]:
        """The mean, and that of the paired differences to the reference if it is of the same pictures."""
        gap = None
        if len(values) == len(reference):
            gap = self.estimates.of_difference(*known_pairs(values, reference))
        return self.estimates.of(known(values)), gap

    def of(self, what: str, name: str) -> Agreements:
        """The `edges` or `classes` of a map, picture by picture."""
        return [getattr(p, what)[name] for p in self.pictures if name in getattr(p, what)]

    def as_dict(self) -> dict[str, Any]:
        """Everything but the example pictures, for a JSON file; it shares the lists of raw values."""
        measured = self.measured()
        summary = {
            method: {
                metric: self._summary(
                    self.values(metric, method), self.values(metric, self.reference), keep=False
                )
                for metric in measured
            }
            for method in self.methods
        }
        kinds = list(self.pictures[0].curves) if self.pictures else []
        return {
            "file": self.file,
            "setup": self.setup,
            "stopped": self.stopped,
            "notes": [*self.left_out(), *self.notes],
            "summary": summary,
            "sanity": {step: self._check(maps) for step, maps in self.sanity.items()},
            "other_picture": self._check(self.other_picture),
            "edges": self._check({name: self.of("edges", name) for name in self.maps}),
            "class_dependence": self._check({name: self.of("classes", name) for name in self.maps}),
            "flicker": {name: asdict(values) for name, values in self.flicker.items()},
            "curves": {
                kind: {method: self.curve(kind, method).round(6).tolist() for method in self.methods}
                for kind in kinds
            },
            "pictures": [{**vars(picture)} for picture in self.pictures],
        }

    def _check(self, maps: dict[str, Agreements]) -> dict[str, Any]:
        reference = maps.get(self.reference, [])
        return {name: self._summary(values, reference) for name, values in maps.items() if values}

    def _summary(
        self, values: Sequence[float | None], reference: Sequence[float | None], *, keep: bool = True
    ) -> dict[str, Any]:
        """The mean, the paired difference if the reference has this figure, and the raw values."""
        mean, gap = self.compare(values, reference)
        found: dict[str, Any] = mean.as_dict()
        if gap is not None:
            found["difference"] = gap.as_dict()
        return {**found, "left_out": values.count(None), "values": list(values)} if keep else found
