"""The conclusions from an evaluation in plain words, and their limits."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

from fastcam_runtime.contract import CLASS_OUTPUTS

from ..bootstrap import Estimate
from ..controls import CONTROLS
from ..measures.agreement import known, known_pairs
from ..results import Evaluation
from .dependence import Dependence
from .numbers import plain

FEW = 30
"""With fewer pictures, intervals are wide, and the conclusions say so."""
FEWEST = 6
"""With fewer, no difference is significant: five of five in one direction are chance once in 16 times. With
six, a difference that does not exist is shown in 9 % of the cases, in 13 % if it is very skewed; with thirty
in 5 %."""
UNTRAINED = (
    " Do not use the map alone to check whether a network has learnt: where it was measured, the map of an "
    "untrained network was worth up to as much as an edge filter."
)
"""Said of every map without a class: correlations do not show how much a map is worth."""
_DEPENDENCE = {
    Dependence.YES: "it depends on the class",
    Dependence.PART: "it depends on the class in part",
    Dependence.HARDLY: "it hardly depends on the class",
    Dependence.OPEN: "these pictures do not tell how much it depends on the class",
}
SCORES = {"score_blur": "blurred", "score_mean": "mean-colour"}
"""Insertion minus deletion, and the baseline of each."""


def conclusions(found: Evaluation) -> list[str]:
    """One sentence each."""
    count = len(found.pictures)
    if not count:
        return []
    lines: list[str] = []
    if count < FEWEST:
        pictures = "1 picture is" if count == 1 else f"{count} pictures are"
        lines.append(f"{pictures} too few for conclusions: take {FEW} or more.")
    else:
        if found.measured(tuple(SCORES)):
            lines += [_against_controls(found, name) for name in found.maps]
            lines += [_against_reference(found, name) for name in found.maps[1:]]
        lines += _about_weights(found) + _about_classes(found) + _about_objects(found)
        if count < FEW:
            lines.append(f"{count} pictures are few: take {FEW} or more before you rely on a difference.")
        lines.append(_about_chance(count))
    lines.append(
        "The figures hold for this file and pictures like these. They say whether a map shows what the "
        "network needs, not whether the network is right."
    )
    return lines


def _about_chance(count: int) -> str:
    """How often an interval misleads; `FEWEST` has the shares."""
    told = "Of twenty differences that do not exist, about one is shown by chance"
    return f"{told}; about two, if single pictures stand out." if count < FEW else f"{told}."


def _sign(gap: Estimate) -> int:
    """1 or −1 if the interval is on that side of 0, else 0."""
    return (gap.low > 0) - (gap.high < 0)


def signs_of(gaps: Mapping[str, Estimate]) -> dict[str, int]:
    """1, −1 or 0 for each of two figures that are alike, such that one of twenty pairs misleads, not two.

    Hochberg's procedure: two intervals of 95 % count if both exclude 0, and one alone if that of 97.5 % does.
    """
    signs = {metric: _sign(gap) for metric, gap in gaps.items()}
    if len(signs) > 1 and not all(signs.values()):
        signs = {metric: (gap.wide[0] > 0) - (gap.wide[1] < 0) for metric, gap in gaps.items()}
    return signs


def _verdict(found: Evaluation, name: str, other: str) -> str:
    """How a map is to `other` by insertion minus deletion with both baselines; empty if nothing is shown."""
    metrics = found.measured(tuple(SCORES))
    signs = signs_of({metric: found.difference(metric, name, other) for metric in metrics})
    word = {1: "better than", -1: "worse than"}
    shown = set(signs.values())
    if shown == {0}:
        return ""
    if len(shown) == 1:
        return word[shown.pop()]
    if 0 not in shown:
        return "better or worse, by the baseline, than"
    (metric,) = (metric for metric, sign in signs.items() if sign)
    return f"{word[signs[metric]].removesuffix(' than')}, with the {SCORES[metric]} baseline only, than"


def _against_controls(found: Evaluation, name: str) -> str:
    """Whether a map beats every control by insertion and deletion."""
    groups: dict[str, list[str]] = {}
    for control in CONTROLS:
        groups.setdefault(_verdict(found, name, control), []).append(control)
    open_ = groups.pop("", [])
    text = f"{name} predicts what the network needs "
    if list(groups) == ["better than"] and not open_:
        return text + f"better than every control ({', '.join(CONTROLS)})."
    if not groups:
        return f"{name} is not shown to predict what the network needs better or worse than any control."
    parts = [f"{verdict} {', '.join(controls)}" for verdict, controls in groups.items()]
    parts += [f"no difference to {', '.join(open_)} is shown"] if open_ else []
    return text + "; ".join(parts) + "."


def _against_reference(found: Evaluation, name: str) -> str:
    verdict = _verdict(found, name, found.reference)
    gaps = ", ".join(
        f"{found.difference(metric, name).mean:+.3f}".replace("-", "−") + f" {SCORES[metric]}"
        for metric in found.measured(tuple(SCORES))
    )
    told = verdict or "not shown to differ from"
    return f"{name} is {told} {found.reference} in insertion minus deletion ({gaps})."


def _about_weights(found: Evaluation) -> list[str]:
    """Whether anything of a map remains without what was learnt, beyond what unrelated maps share."""
    lines = []
    for name in found.maps:
        shuffled, another = found.sanity.get("all", {}).get(name, []), found.other_picture.get(name, [])
        if len(shuffled) < FEWEST or len(shuffled) != len(another):
            continue
        kept, unrelated = known_pairs(shuffled, another)
        if len(kept) < FEWEST:
            lines.append(
                f"{name}: with all weights shuffled, {len(kept)} of {len(shuffled)} pictures have a map that "
                "shows anything: too few to tell what remains of it."
            )
            continue
        left, level, edges = fmean(kept), fmean(unrelated), found.edges(name).mean
        text = f"{name}: with all weights shuffled its rank correlation with itself is {plain(left, 2)}, "
        sign, warning = _sign(found.estimates.of_difference(kept, unrelated)), ""
        if sign > 0:
            text += (
                f"more than with the map of another picture ({plain(level, 2)}): a part of it shows the "
                "picture, not what was learnt."
            )
            warning = " Do not use the map to check whether a network has learnt."
        elif sign < 0:
            text += (
                f"less than with the map of another picture ({plain(level, 2)}): nothing of it remains "
                "without what was learnt."
            )
        else:
            text += (
                f"with the map of another picture {plain(level, 2)}: these pictures do not tell whether any "
                "of it remains without what was learnt."
            )
        if name not in CLASS_OUTPUTS:
            warning = UNTRAINED
        lines.append(f"{text} Its rank correlation with an edge filter is {plain(edges, 2)}.{warning}")
    return lines


def _about_classes(found: Evaluation) -> list[str]:
    lines = []
    for name in found.maps:
        every, same = found.of("classes", name), found.class_dependence(name)
        if same is None:
            continue
        count = len(known(every))
        if count < FEWEST:
            lines.append(
                f"{name}: {count} of {len(every)} pictures have a map for each of two classes that shows "
                "anything: too few to tell whether it depends on the class."
            )
            continue
        verdict = _DEPENDENCE[Dependence.of(same.low, same.high)]
        lines.append(
            f"{name}: {verdict} (rank correlation {plain(same.mean, 2)} with its map of a random class, "
            f"interval {plain(same.low, 2)}…{plain(same.high, 2)})."
        )
    return lines


def _about_objects(found: Evaluation) -> list[str]:
    """Whether the maps find the marked objects better than a guess at the centre."""
    lines = []
    for name in found.maps if found.measured(("pixel_auc",)) else ():
        if len(found.values("pixel_auc", name)) < FEWEST:
            return ["Too few pictures have objects for a conclusion about them."]
        ours, middle = found.mean("pixel_auc", name).mean, found.mean("pixel_auc", "centre").mean
        sign = _sign(found.difference("pixel_auc", name, "centre"))
        figures = f"(pixel AUC {ours:.2f}, centre {middle:.2f})"
        if sign > 0:
            lines.append(f"{name} finds the marked objects better than a guess at the centre {figures}.")
        elif sign < 0:
            lines.append(f"A guess at the centre finds the marked objects better than {name} {figures}.")
        else:
            lines.append(f"{name} is not shown to find the marked objects better than the centre {figures}.")
    return lines
