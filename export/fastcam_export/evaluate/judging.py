"""All figures of one picture: every map of the file, and every control."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from fastcam_runtime.classes import label_of
from fastcam_runtime.contract import ARGMAX
from fastcam_runtime.image import Image
from numpy.typing import NDArray

from .controls import CONTROLS, EDGES
from .marks import Marks
from .measures import perturbation, road
from .measures.agreement import agreement
from .measures.baselines import BASELINES, Tensor
from .measures.localisation import located, on_input
from .measures.masks import ranking
from .results import PictureResult
from .subject import FedPicture, NoClassScores, Subject

MapsByName = dict[str, NDArray[np.float32]]
RanksByName = dict[str, NDArray[np.int32]]
Curves = dict[str, dict[str, list[float]]]


@dataclass(frozen=True)
class Judged:
    """A picture with its figures, and what the sanity checks need of it."""

    result: PictureResult
    fed: FedPicture
    maps: MapsByName
    target: int
    """The predicted class; `ARGMAX` if the network gives no class scores."""
    says_no: bool = False
    """Whether a network with one logit finds its class less likely than not: `no` is judged."""

    @property
    def finite(self) -> bool:
        """Whether all figures and maps are finite numbers."""
        figures = np.array([value for one in self.result.methods.values() for value in one.values()])
        return bool(np.isfinite(figures).all()) and all(np.isfinite(m).all() for m in self.maps.values())

    def agreement_with(self, maps: MapsByName, name: str) -> float | None:
        """The rank correlation of a map with another one, where this picture lies in the input."""
        return agreement(*_in_picture(self.fed, self.maps[name], maps[name]))

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self.fed.tensor.nbytes + self.fed.picture.nbytes + sum(m.nbytes for m in self.maps.values())


def judge(subject: Subject, path: Path, frame: Image, marks: Marks | None, seed: int) -> Judged:
    """The figures of one picture. Without class scores, those that need none."""
    fed = subject.see(frame)
    try:
        chances = subject.probabilities([fed.tensor])[0]
    except NoClassScores:
        chances = None
    target = ARGMAX if chances is None else int(chances.argmax())
    says_no = chances is not None and len(chances) == 1 and bool(chances[0] < 0.5)
    whole = None if chances is None else float(1 - chances[0] if says_no else chances[target])
    maps = subject.maps(fed.tensor, target)
    controls = controls_of(fed, seed)
    every = {**maps, **controls}
    methods: dict[str, dict[str, float]] = {name: {} for name in every}
    curves: Curves = {}
    if whole is not None:

        def ask(versions: Iterable[Tensor]) -> NDArray[np.float64]:
            found = subject.probabilities(versions)[:, target]
            return 1 - found if says_no else found

        curves = _perturb(fed.tensor, ask, whole, every, methods, seed)
    if marks is not None:
        laid = on_input(marks, fed.geometry)
        for name, values in every.items():
            methods[name].update(located(values, laid))
    result = PictureResult(
        path.name,
        "" if whole is None else says_no * "not " + label_of(target, subject.metadata.labels),
        whole,
        methods,
        {name: agreement(*_in_picture(fed, values, controls[EDGES])) for name, values in maps.items()},
        {} if chances is None else _other_class(subject, fed, maps, target, len(chances), seed),
        curves,
    )
    return Judged(result, fed, maps, target, says_no)


def controls_of(fed: FedPicture, seed: int) -> MapsByName:
    """The control maps of the picture where it lies in the input; 0 in letterbox bars."""
    placed = fed.geometry.placed
    part = np.ascontiguousarray(placed.of(fed.picture))
    found: MapsByName = {}
    for name, make in CONTROLS.items():
        found[name] = np.zeros(fed.geometry.input, np.float32)
        placed.of(found[name])[:] = make(part, seed)
    return found


def _in_picture(fed: FedPicture, *maps: NDArray[np.float32]) -> Iterable[NDArray[np.float32]]:
    """The maps without letterbox bars, in which all maps are alike."""
    return (fed.geometry.placed.of(values) for values in maps)


def _perturb(
    tensor: Tensor, ask: perturbation.Ask, whole: float, every: MapsByName,
    methods: dict[str, dict[str, float]], seed: int,
) -> Curves:  # fmt: skip
    """Add insertion, deletion, drop, increase and ROAD to `methods`; returns the curves."""
    ranks: RanksByName = {name: ranking(values) for name, values in every.items()}
    found: Curves = {}
    for kind, make_baseline in BASELINES.items():
        curves = perturbation.curves(tensor, make_baseline(tensor), ranks, ask)
        for name, pair in curves.items():
            for way, curve in zip(("insertion", "deletion"), pair, strict=True):
                found.setdefault(f"{way}_{kind}", {})[name] = curve.round(6).tolist()
                methods[name][f"{way}_{kind}"] = perturbation.area(curve)
            one = methods[name]
            one[f"score_{kind}"] = one[f"insertion_{kind}"] - one[f"deletion_{kind}"]
    faded = perturbation.drops(tensor, BASELINES["mean"](tensor), every, ask, whole)
    gains = road.gains(tensor, ranks, ask, seed)
    for name in every:
        methods[name]["drop"], methods[name]["increase"] = faded[name]
        methods[name]["road"] = gains[name]
    return found


def _other_class(
    subject: Subject, fed: FedPicture, maps: MapsByName, target: int, classes: int, seed: int
) -> dict[str, float | None]:
    """The rank correlation of each class map with that of a random class; empty if none can be chosen."""
    if not subject.class_words or not subject.takes_class or classes < 2:
        return {}
    other = (target + int(np.random.default_rng(seed).integers(1, classes))) % classes
    others = subject.maps(fed.tensor, other)
    return {name: agreement(*_in_picture(fed, maps[name], others[name])) for name in subject.class_words}
