"""The whole evaluation: pictures one after the other, then the sanity checks and the video."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from fastcam_runtime.classes import label_of
from fastcam_runtime.errors import FastcamError, SourceError
from fastcam_runtime.image import Image
from numpy.typing import NDArray

from . import perturbation, road, shuffling
from .agreement import rank_correlation
from .baselines import BASELINES, BLUR_SIGMA, Tensor
from .bootstrap import RESAMPLES
from .controls import CONTROLS, EDGES
from .flicker import flicker
from .localisation import located, on_input
from .masks import ranking
from .objects import Marks, Objects
from .pictures import read_picture
from .results import Evaluation, Example, PictureResult
from .subject import FedPicture, Subject

SANITY_PICTURES = 20
EXAMPLES = 4
MapsByName = dict[str, NDArray[np.float32]]
Tell = Callable[[str, int, int], None]
"""Reports progress: the stage, the number of items done, and their total."""


@dataclass(frozen=True)
class EvaluationRequest:
    """What to measure in addition to insertion and deletion."""

    pictures: Sequence[Path]
    objects: Objects | None = None
    video: str | None = None
    seed: int = 0
    sanity: bool = True


def begin(subject: Subject, name: str, request: EvaluationRequest) -> Evaluation:
    """An empty evaluation of the file that the user calls `name`."""
    return Evaluation(name, _setup(subject, request), (*subject.words, *CONTROLS), subject.words)


def evaluate(
    subject: Subject, request: EvaluationRequest, found: Evaluation, folder: Path, tell: Tell
) -> None:
    """Measure. Results are added to `found` picture by picture, so they survive an interruption.

    Temporary files with shuffled weights go to `folder`.

    Raises:
        SourceError: None of the pictures can be read.
    """
    kept: list[tuple[FedPicture, MapsByName]] = []
    for number, path in enumerate(request.pictures):
        tell("pictures", number, len(request.pictures))
        frame = read_picture(path)
        if frame is None:
            found.notes.append(f"{path} is not a picture that can be read; left out")
            continue
        seen, maps = _judge(subject, request, found, path, frame, number)
        if len(kept) < SANITY_PICTURES:
            kept.append((seen, maps))
    if not found.pictures:
        raise SourceError(f"{', '.join(map(str, request.pictures[:3]))}: no picture could be read")
    if request.objects is not None and not any(
        "pointing" in m for p in found.pictures for m in p.methods.values()
    ):
        found.notes.append(
            "no picture has objects, or they fill it: they are found by the picture's file name, folders "
            "left out"
        )
    if request.objects is not None:
        found.notes += request.objects.notes
    if request.sanity:
        _sanity(subject, found, kept, folder, tell)
    if request.video is not None:
        tell("video", 0, 1)
        found.flicker = flicker(request.video, lambda frame: subject.maps(subject.see(frame).tensor))


def _judge(
    subject: Subject, request: EvaluationRequest, found: Evaluation, path: Path, frame: Image, number: int
) -> tuple[FedPicture, MapsByName]:
    """Add all figures of one picture to the results."""
    seed = request.seed + number
    seen = subject.see(frame)
    chances = subject.probabilities([seen.tensor])[0]
    target = int(chances.argmax())

    def ask(versions: list[Tensor]) -> NDArray[np.float64]:
        return subject.probabilities(versions)[:, target]

    maps = subject.maps(seen.tensor)
    controls = {name: make(seen.picture, seed) for name, make in CONTROLS.items()}
    every = {**maps, **controls}
    ranks = {name: ranking(values) for name, values in every.items()}
    methods: dict[str, dict[str, float]] = {name: {} for name in every}
    for kind, make_baseline in BASELINES.items():
        baseline = make_baseline(seen.tensor)
        curves = perturbation.curves(seen.tensor, baseline, ranks, ask)
        for name, (insertion, deletion) in curves.items():
            _add(found, f"insertion_{kind}", name, insertion)
            _add(found, f"deletion_{kind}", name, deletion)
            areas = perturbation.area(insertion), perturbation.area(deletion)
            methods[name][f"insertion_{kind}"], methods[name][f"deletion_{kind}"] = areas
            methods[name][f"score_{kind}"] = areas[0] - areas[1]
    faded = perturbation.drops(
        seen.tensor, BASELINES["mean"](seen.tensor), every, ask, float(chances[target])
    )
    gains = road.gains(seen.tensor, ranks, ask, seed)
    for name in every:
        methods[name]["drop"], methods[name]["increase"] = faded[name]
        methods[name]["road"] = gains[name]
    marks = None if request.objects is None else _marks(request.objects, found, path, frame)
    if marks is not None:
        laid = on_input(marks, seen.geometry)
        for name, values in every.items():
            methods[name].update(located(values, laid))
    label = label_of(target, subject.metadata.labels)
    found.pictures.append(
        PictureResult(
            path.name, label, float(chances[target]), methods,
            {name: rank_correlation(values, controls[EDGES]) for name, values in maps.items()},
            _other_class(subject, seen, maps, target, len(chances), seed),
        )
    )  # fmt: skip
    _show(
        found,
        Example(
            path.name, label, methods[found.reference]["score_blur"], seen.picture, maps[found.reference]
        ),
    )
    return seen, maps


def _marks(objects: Objects, found: Evaluation, path: Path, frame: Image) -> Marks | None:
    """The objects of a picture; an annotation that does not fit it is told, and left out."""
    try:
        return objects.of(path, (frame.shape[0], frame.shape[1]))
    except FastcamError as error:
        found.notes.append(f"{error}; its objects are left out")
        return None


def _other_class(
    subject: Subject, seen: FedPicture, maps: MapsByName, target: int, classes: int, seed: int
) -> dict[str, float]:
    """The rank correlation of each class map with that of a random class."""
    if not subject.class_words or classes < 2:
        return {}
    other = (target + int(np.random.default_rng(seed).integers(1, classes))) % classes
    others = subject.maps(seen.tensor, other)
    return {name: rank_correlation(maps[name], others[name]) for name in subject.class_words}


def _sanity(
    subject: Subject,
    found: Evaluation,
    kept: Sequence[tuple[FedPicture, MapsByName]],
    folder: Path,
    tell: Tell,
) -> None:
    """Compare the maps of the file with those of copies with shuffled weights."""
    if len(kept) > 1:
        for name in subject.words:
            pairs = zip(kept, [*kept[1:], kept[0]], strict=True)
            found.other_picture[name] = [rank_correlation(a[1][name], b[1][name]) for a, b in pairs]
    whole = shuffling.load_whole(subject.path)
    for number, (step, share) in enumerate(shuffling.STEPS.items()):
        tell("shuffled weights", number, len(shuffling.STEPS))
        path = folder / f"shuffled-{number}.onnx"
        path.write_bytes(shuffling.shuffled(whole, share).SerializeToString())
        mixed = Subject(path, subject.threads)
        path.unlink()
        pairs_of: dict[str, list[float]] = {name: [] for name in subject.words}
        for seen, maps in kept:
            for name, values in mixed.maps(seen.tensor).items():
                pairs_of[name].append(rank_correlation(maps[name], values))
        found.sanity[step] = pairs_of


def _add(found: Evaluation, kind: str, name: str, curve: NDArray[np.float64]) -> None:
    sums = found.curves.setdefault(kind, {})
    sums[name] = sums[name] + curve if name in sums else curve


def _show(found: Evaluation, example: Example) -> None:
    """Keep the best and the worst few pictures as examples."""
    found.best = sorted([*found.best, example], key=lambda e: -e.score)[:EXAMPLES]
    found.worst = sorted([*found.worst, example], key=lambda e: e.score)[:EXAMPLES]


def _setup(subject: Subject, request: EvaluationRequest) -> dict[str, object]:
    meta = subject.metadata
    return {
        "pictures": len(request.pictures),
        "levels": list(perturbation.LEVELS),
        "baselines": {
            "blur": f"Gaussian, sigma {BLUR_SIGMA:g} of the shorter side",
            "mean": "own mean colour",
        },
        "road_levels": list(road.LEVELS),
        "target": "the predicted class of the whole picture",
        "seed": request.seed,
        "bootstrap": f"{RESAMPLES} resamples, percentile, 95 %",
        "statistic": meta.statistic,
        "normalize": meta.normalize,
        "weights": [tap.weight for tap in meta.taps],
        "cam": meta.cam,
    }
