"""The conclusions from an evaluation in plain words, and their limits."""

from __future__ import annotations

from ..bootstrap import estimate
from ..controls import CONTROLS
from ..metrics import METRICS
from ..results import Evaluation

FEW = 30
"""With fewer pictures, intervals are wide, and the conclusions say so."""
LITTLE_CHANGE = 0.8
"""A map with a higher correlation under other weights, or for another class, hardly depends on them."""


def conclusions(found: Evaluation) -> list[str]:
    """One sentence each."""
    if not found.pictures:
        return []
    lines = [_against_controls(found, name) for name in found.maps]
    lines += [_against_reference(found, name) for name in found.maps[1:]]
    lines += _about_weights(found) + _about_classes(found) + _about_objects(found)
    count = len(found.pictures)
    if count < FEW:
        lines.append(f"{count} pictures are few: take {FEW} or more before you rely on a difference.")
    lines.append(
        "The figures hold for this file and pictures like these. They say whether a map shows what the "
        "network needs, not whether the network is right."
    )
    return lines


def _against_controls(found: Evaluation, name: str) -> str:
    """Whether a map beats every control by insertion and deletion."""
    metric = "score_blur"
    beaten: list[str] = []
    level: list[str] = []
    lost: list[str] = []
    own = found.values(metric, name)
    for control in CONTROLS:
        pairs = zip(own, found.values(metric, control), strict=True)
        gap = estimate([one - other for one, other in pairs])
        (beaten if gap.low > 0 else lost if gap.high < 0 else level).append(control)
    text = f"{name} predicts what the network needs "
    if len(beaten) == len(CONTROLS):
        return text + f"better than every control ({', '.join(beaten)})."
    parts = [f"better than {', '.join(beaten)}"] if beaten else []
    parts += [f"no better than {', '.join(level)} as far as these pictures tell"] if level else []
    parts += [f"worse than {', '.join(lost)}"] if lost else []
    return text + "; ".join(parts) + "."


def _against_reference(found: Evaluation, name: str) -> str:
    gap = found.difference("score_blur", name)
    title = METRICS["score_blur"].title
    if not gap.excludes_zero:
        return (
            f"{title}: no difference between {name} and {found.reference} is shown; its interval includes 0."
        )
    word = "better" if gap.mean > 0 else "worse"
    return f"{name} is {word} than {found.reference} in {title} (by {abs(gap.mean):.3f})."


def _about_weights(found: Evaluation) -> list[str]:
    lines = []
    for name in found.maps:
        kept = found.sanity.get("all", {}).get(name)
        if not kept:
            continue
        left, edges = sum(kept) / len(kept), found.edges(name).mean
        lines.append(
            f"{name}: with all weights shuffled its rank correlation with itself is {left:.2f}, that with an "
            f"edge filter {edges:.2f}. Do not use it to check whether a network has learnt."
        )
    return lines


def _about_classes(found: Evaluation) -> list[str]:
    lines = []
    for name in found.maps:
        found_dependence = found.class_dependence(name)
        if found_dependence is None:
            continue
        same = found_dependence.mean
        verdict = (
            "it hardly depends on the class"
            if same > LITTLE_CHANGE
            else "it depends on the class"
            if same < 0.5
            else "it depends on the class in part"
        )
        lines.append(f"{name}: {verdict} (rank correlation {same:.2f} with its map of a random class).")
    return lines


def _about_objects(found: Evaluation) -> list[str]:
    if not found.measured(("pixel_auc",)):
        return []
    name = found.reference
    ours, middle = found.mean("pixel_auc", name), found.difference("pixel_auc", "centre")
    if middle.high < 0:
        return [
            f"{name} finds the marked objects better than a guess at the centre (pixel AUC {ours.mean:.2f})."
        ]
    return [
        f"A guess at the centre finds the marked objects as well as {name} (pixel AUC {ours.mean:.2f}): "
        "these pictures cannot tell them apart."
    ]
