"""The figures of an evaluation: their names, and which way is better."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """One column of the tables."""

    title: str
    higher_is_better: bool
    meaning: str


METRICS = {
    "score_blur": Metric(
        "ins − del, blur", True,
        "insertion minus deletion, with a blurred baseline: how well the map predicts what the network needs",
    ),
    "insertion_blur": Metric("insertion, blur", True, "mean probability while pixels appear, salient first"),
    "deletion_blur": Metric("deletion, blur", False, "mean probability while pixels vanish, salient first"),
    "score_mean": Metric(
        "ins − del, mean", True, "insertion minus deletion, with the picture's mean colour as the baseline"
    ),
    "insertion_mean": Metric("insertion, mean", True, "insertion with the picture's mean colour"),
    "deletion_mean": Metric("deletion, mean", False, "deletion with the picture's mean colour"),
    "drop": Metric(
        "avg. drop", False, "relative loss of probability when the map masks the picture (with mean colour)"
    ),
    "increase": Metric("increase", True, "share of pictures whose probability rises with the mask"),
    "road": Metric("ROAD", True, "loss without the most salient pixels minus loss without the least, halved"),
    "pointing": Metric("pointing", True, "share of pictures whose highest value lies on a marked object"),
    "energy": Metric("energy inside", True, "share of the map's sum on marked objects"),
    "pixel_auc": Metric("pixel AUC", True, "probability that an object's pixel is more salient than another"),
}  # fmt: skip
"""By their names in the JSON, in the order of the tables."""

SHOWN = ("score_blur", "score_mean", "road", "drop", "increase", "pointing", "energy", "pixel_auc")
"""The metrics of the printed table; the others are in the report and in the JSON."""

RANKED_BY = ("score_blur", "pixel_auc")
"""The figure by which pictures are the best and the worst: the first one that was measured."""
