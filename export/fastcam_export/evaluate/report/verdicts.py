"""The conclusions at a glance: one row per map, a few words per question."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

from fastcam_runtime.contract import CLASS_OUTPUTS

from ..bootstrap import Estimate
from ..controls import CONTROLS
from ..measures.agreement import known, known_pairs
from ..results import Evaluation
from .dependence import Dependence
from .numbers import rounded
from .words import FEWEST, SCORES

GOOD, PART, BAD, OPEN = "good", "part", "bad", "open"
"""How an answer is for somebody who wants to use the map; `OPEN` if the pictures do not tell."""


_DEPENDENCE = {
    Dependence.YES: (GOOD, "yes"),
    Dependence.PART: (PART, "in part"),
    Dependence.HARDLY: (BAD, "hardly"),
    Dependence.OPEN: (OPEN, "not clear"),
}


@dataclass(frozen=True)
class Verdict:
    """The answer to one question about one map."""

    mark: str
    short: str
    figure: str


QUESTIONS = (
    "Finds what the network needs",
    "Depends on the class",
    "What remains with shuffled weights",
    "Finds the marked objects",
)


def verdicts(found: Evaluation) -> dict[str, list[Verdict | None]]:
    """By map: an answer to each of `QUESTIONS`; None where it was not measured, or the map has no class.

    Empty where pictures are too few for conclusions.
    """
    if len(found.pictures) < FEWEST:
        return {}
    ask = (_needs, _class, _learnt, _objects)
    return {name: [question(found, name) for question in ask] for name in found.maps}


def _needs(found: Evaluation, name: str) -> Verdict | None:
    """By insertion minus deletion, with every baseline."""
    metrics = found.measured(tuple(SCORES))
    if not metrics:
        return None
    every = [[found.difference(metric, name, control) for metric in metrics] for control in CONTROLS]
    better = sum(all(gap.low > 0 for gap in gaps) for gaps in every)
    worse = sum(all(gap.high < 0 for gap in gaps) for gaps in every)
    figure = f"better than {better} of {len(CONTROLS)} controls" + (f", worse than {worse}" if worse else "")
    if better == len(CONTROLS):
        return Verdict(GOOD, "yes", figure)
    if better > worse:
        return Verdict(PART, "in part", figure)
    return Verdict(BAD if worse else OPEN, "no" if worse else "not shown", figure)


def _class(found: Evaluation, name: str) -> Verdict | None:
    """By its agreement with the map of a random class."""
    if name not in CLASS_OUTPUTS:
        return None
    same = found.class_dependence(name)
    if same is None:
        return None
    if len(known(found.of("classes", name))) < FEWEST:
        return Verdict(OPEN, "not shown", "too few pictures")
    figure = f"correlation {_with_interval(same)} with that of another class"
    mark, short = _DEPENDENCE[Dependence.of(same.low, same.high)]
    return Verdict(mark, short, figure)


def _learnt(found: Evaluation, name: str) -> Verdict | None:
    """By what remains of it with all weights shuffled, beyond what unrelated maps share."""
    shuffled, another = found.sanity.get("all", {}).get(name, []), found.other_picture.get(name, [])
    if not shuffled or len(shuffled) != len(another):
        return None
    kept, unrelated = known_pairs(shuffled, another)
    if len(kept) < FEWEST:
        return Verdict(OPEN, "not shown", "too few pictures")
    figure = (
        f"correlation {rounded(fmean(kept), 2)} with itself, {rounded(fmean(unrelated), 2)} with the map of "
        "another picture"
    )
    gap = found.estimates.of_difference(kept, unrelated)
    if gap.low > 0 or name not in CLASS_OUTPUTS:
        figure += "; do not use it alone to check whether a network has learnt"
    if gap.low > 0:
        return Verdict(PART, "a part that was not learnt", figure)
    return Verdict(GOOD, "nothing", figure) if gap.high < 0 else Verdict(OPEN, "not clear", figure)


def _objects(found: Evaluation, name: str) -> Verdict | None:
    """By the pixel AUC against the centre's."""
    if not found.measured(("pixel_auc",)):
        return None
    if len(found.values("pixel_auc", name)) < FEWEST:
        return Verdict(OPEN, "not shown", "too few pictures with objects")
    gap = found.difference("pixel_auc", name, "centre")
    ours, middle = found.mean("pixel_auc", name).mean, found.mean("pixel_auc", "centre").mean
    figure = f"pixel AUC {rounded(ours, 2)}, a guess at the centre {rounded(middle, 2)}"
    if gap.low > 0:
        return Verdict(GOOD, "better than the centre", figure)
    if gap.high < 0:
        return Verdict(BAD, "worse than the centre", figure)
    return Verdict(OPEN, "no better shown than the centre", figure)


def _with_interval(one: Estimate) -> str:
    return f"{rounded(one.mean, 2)} ({rounded(one.low, 2)}…{rounded(one.high, 2)})"
