"""The whole evaluation: pictures one after the other, then the sanity checks and the video."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fastcam_runtime.errors import FastcamError, SourceError, first_line
from fastcam_runtime.image import Image
from fastcam_runtime.measure.system import cpu_name, versions
from fastcam_runtime.model.description import values_told
from fastcam_runtime.model.device import package_version

from .bootstrap import METHOD
from .controls import CONTROLS
from .judging import Judged, judge
from .marks import Marks
from .measures import perturbation, road, shuffling
from .measures.agreement import Agreements
from .measures.baselines import BLUR_SIGMA
from .measures.flicker import flicker
from .metrics import RANKED_BY
from .objects import Objects
from .pictures import read_picture
from .results import Evaluation, Example
from .subject import Subject

SANITY_PICTURES = 20
_SANITY_BYTES = 1 << 28
"""Most memory for the pictures of the sanity checks: large ones are fewer."""
_NOT_FINITE = "the network gives values that are not finite numbers"
EXAMPLES = 4
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


def evaluate(subject: Subject, request: EvaluationRequest, found: Evaluation, tell: Tell) -> None:
    """Measure. Results are added to `found` picture by picture, so they survive an interruption.

    The time goes to the set-up, also of a measurement that is interrupted.

    Raises:
        FastcamError: None of the pictures can be read, or none has an object.
    """
    started = time.monotonic()
    try:
        _measure(subject, request, found, tell)
    finally:
        found.setup["seconds"] = round(time.monotonic() - started, 1)


def _measure(subject: Subject, request: EvaluationRequest, found: Evaluation, tell: Tell) -> None:
    if request.objects is not None:
        request.objects.check(request.pictures)
    kept = _pictures(subject, request, found, tell)
    if not found.pictures:
        raise SourceError(
            f"{', '.join(map(str, request.pictures[:3]))}: no picture could be {_failure(found)}"
        )
    if not found.measured(("score_blur",)):
        found.notes.append(
            f"the output {subject.metadata.scores!r} holds no class scores: insertion and deletion, average "
            "drop, ROAD and class dependence need them"
        )
    if request.objects is not None:
        having, total = len(found.values("pointing", found.reference)), len(found.pictures)
        if not having:
            found.notes.append(
                "no picture has figures of objects: they are left out, crowds, outside it, or fill it"
            )
        elif having < total:
            found.notes.append(f"objects in {having} of {total} pictures: their figures are of these")
        found.notes += request.objects.notes
    if request.sanity:
        with _noting(found, "the check with shuffled weights ended early"):
            _sanity(subject, request, found, kept, tell)
    if request.video is not None:
        with _noting(found, f"{request.video}: the flicker is that of the frames before"):
            _video(subject, request.video, found, tell)


@contextmanager
def _noting(found: Evaluation, what: str) -> Iterator[None]:
    """Turn any error of a later stage into a note: the pictures may have taken hours."""
    try:
        yield
    except Exception as error:  # of onnxruntime, protobuf, OpenCV or numpy; memory that does not suffice
        found.notes.append(f"{what}: {first_line(error)}")


def _pictures(subject: Subject, request: EvaluationRequest, found: Evaluation, tell: Tell) -> list[Judged]:
    """Measure the pictures; returns some, evenly spread, for the sanity checks."""
    kept: list[Judged] = []
    total, no = len(request.pictures), 0
    for number, path in enumerate(request.pictures):
        tell("pictures", number, total)
        frame = read_picture(path)
        if frame is None:
            found.notes.append(f"{path} is not a picture that can be read; left out")
            continue
        marks = None if request.objects is None else _marks(request.objects, found, path, frame)
        judged = judge(subject, path, frame, marks, request.seed + number)
        if not judged.finite:
            found.notes.append(f"{path}: {_NOT_FINITE}; left out")
            continue
        found.pictures.append(judged.result)
        no += judged.says_no
        _show(found, judged)
        room = max(2, _SANITY_BYTES // judged.size)  # for all alike: the network fixes the size
        most = min(SANITY_PICTURES, room, total)
        if len(kept) < most and number >= len(kept) * total // most:
            kept.append(judged)
    if no and subject.class_words:
        found.notes.append(
            f"the network says no to {no} of {len(found.pictures)} pictures; its class maps show what speaks "
            "for yes, there too, and so cannot predict what the no needs"
        )
    return kept


def _failure(found: Evaluation) -> str:
    """What no picture could be, and why if that is not told above."""
    if not any(_NOT_FINITE in note for note in found.notes):
        return "read"
    return f"evaluated: {_NOT_FINITE}"


def _marks(objects: Objects, found: Evaluation, path: Path, frame: Image) -> Marks | None:
    """The objects of a picture; an annotation that does not fit it is told, and left out."""
    try:
        return objects.of(path, (frame.shape[0], frame.shape[1]))
    except FastcamError as error:
        found.notes.append(f"{error}; its objects are left out")
        return None


def _sanity(
    subject: Subject, request: EvaluationRequest, found: Evaluation, kept: Sequence[Judged], tell: Tell
) -> None:
    """Compare the maps of the file with those of copies with shuffled weights, for the same class.

    Every picture has copies of its own: with one copy for all, its luck would be in every value, and the
    interval over the pictures would not know of it.
    """
    found.setup["sanity_pictures"] = [one.result.name for one in kept]
    if len(kept) > 1:
        for name in subject.words:
            found.other_picture[name] = _with_another(kept, name)
    if not kept:
        return
    shuffler = shuffling.Shuffler(shuffling.load_whole(subject.path, subject.map_names))
    if not shuffler.has_weights:
        found.notes.append("no weights were found that could be shuffled: that check is left out")
        return
    total = len(shuffler.steps) * len(kept)
    found.setup["shuffled_weights"] = f"{total} random orders: one for each of these pictures and each step"
    for number, (step, share) in enumerate(shuffler.steps.items()):
        pairs_of: dict[str, Agreements] = {name: [] for name in subject.words}
        for k, one in enumerate(kept):
            tell("shuffled weights", number * len(kept) + k, total)
            data = shuffler.file(share, (request.seed, k, number))
            maps = subject.maps_with(data, one.fed.tensor, one.target)
            for name in subject.words:
                pairs_of[name].append(one.agreement_with(maps, name))
        found.sanity[step] = pairs_of


def _with_another(kept: Sequence[Judged], name: str) -> Agreements:
    """The rank correlation of each map with the next one that shows anything, around the end."""
    found: Agreements = []
    for number, one in enumerate(kept):
        others = (*kept[number + 1 :], *kept[:number])
        following = (one.agreement_with(other.maps, name) for other in others)
        found.append(next((value for value in following if value is not None), None))
    return found


def _video(subject: Subject, uri: str, found: Evaluation, tell: Tell) -> None:
    """Add the flicker, frame by frame."""
    flicker(
        uri,
        lambda frame: subject.maps(subject.see(frame).tensor),
        found=found.flicker,
        tell=lambda done, total: tell("video", done, total),
    )
    if not found.flicker:
        found.notes.append(f"{uri}: fewer than two frames, so there is no flicker to measure")


def _show(found: Evaluation, judged: Judged) -> None:
    """Keep the best and the worst few pictures as examples."""
    figures = judged.result.methods[found.reference]
    ranked = next((metric for metric in RANKED_BY if metric in figures), None)
    if ranked is None:
        return
    example = Example(
        judged.result.name,
        judged.result.label,
        figures[ranked],
        judged.fed.picture,
        judged.maps[found.reference],
    )
    found.best = sorted([*found.best, example], key=lambda e: -e.score)[:EXAMPLES]
    found.worst = sorted([*found.worst, example], key=lambda e: e.score)[:EXAMPLES]


def _setup(subject: Subject, request: EvaluationRequest) -> dict[str, object]:
    meta = subject.metadata
    told = values_told(meta.preprocess, meta.resize, meta.labels, meta.provenance)
    return {
        "pictures": len(request.pictures),
        "levels": list(perturbation.LEVELS),
        "baselines": {
            "blur": f"Gaussian, sigma {BLUR_SIGMA:g} of the shorter side",
            "mean": "own mean colour",
        },
        "drop_baseline": "own mean colour; the map is stretched to 0…1",
        "road_levels": list(road.LEVELS),
        "target": "the predicted class of the whole picture; with one logit p < 0.5 is no, judged by 1 − p",
        "seed": request.seed,
        "bootstrap": METHOD,
        "statistic": meta.statistic,
        "normalize": meta.normalize,
        "weights": [tap.weight for tap in meta.taps],
        "cam": meta.cam,
        **{name: f"{value} ({where})" if where else value for name, value, where in told},
        "processor": cpu_name(),
        "threads": subject.session_threads,
        "versions": {"fastcam": package_version() or "not installed", **versions()},
    }
