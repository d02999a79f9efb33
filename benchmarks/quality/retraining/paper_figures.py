"""What the paper prints about its two experiments, for comparison with ours."""

from __future__ import annotations

from collections.abc import Sequence

from . import protocol
from .cells import MODES
from .scores import retrain_sums

PAPER_D = {
    "smoe": 1.40, "std": 1.36, "truncnormal_entropy": 1.32, "shannon": 1.31, "truncnormal_std": 1.28,
    "truncnormal_mean": 1.23, "mean": 1.11, "lognormal_entropy": 1.09, "lognormal_mean": 1.03,
}  # fmt: skip
"""The difference score as the paper prints it, mean of its three data sets."""
PAPER_D_RECOMPUTED = {
    "smoe": 1.41, "std": 1.36, "truncnormal_entropy": 1.32, "shannon": 1.29, "truncnormal_std": 1.30,
    "truncnormal_mean": 1.27, "mean": 1.11, "lognormal_entropy": 1.16, "lognormal_mean": 0.91,
}  # fmt: skip
"""The same from the paper's own accuracies: seven of its nine scores on ImageNet do not follow from them."""
PAPER_I = {
    "smoe": 1.04, "std": 0.99, "truncnormal_entropy": 0.96, "shannon": 0.93, "truncnormal_std": 0.94,
    "truncnormal_mean": 0.92, "mean": 0.79, "lognormal_entropy": 0.83, "lognormal_mean": 0.59,
}  # fmt: skip
"""The information score as the paper prints it, mean of its three data sets."""
PAPER_QUARTILES = {
    "smoe": (60.00, 93.33, 100.00), "lognormal_entropy": (33.33, 53.33, 100.00),
    "std": (40.00, 60.00, 93.33), "truncnormal_entropy": (33.33, 66.67, 73.33),
    "shannon": (26.67, 40.00, 66.67), "mean": (26.67, 40.00, 66.67),
    "lognormal_mean": (26.67, 33.33, 33.33), "truncnormal_mean": (26.67, 60.00, 86.67),
    "truncnormal_std": (26.67, 53.33, 80.00),
}  # fmt: skip
"""In percent of 15 conditions, three data sets by five layers: how often a statistic's information score is
among the best 25, 50 and 75 %."""
PAPER_INPUT = {
    "smoe prior": (65.44, 72.14, 74.28, 74.51, 75.01, 70.40, 60.33, 48.48, 34.23, 17.72),
    "smoe linear": (65.76, 72.60, 73.97, 74.53, 74.94, 70.28, 60.93, 48.73, 35.66, 18.01),
    "smoe equal": (66.13, 72.28, 73.72, 74.52, 74.97, 71.28, 63.58, 52.85, 38.74, 19.72),
    "std": (65.48, 72.17, 73.93, 74.62, 74.67, 69.98, 60.39, 48.75, 34.63, 18.13),
    "truncnormal_entropy": (65.45, 72.38, 74.10, 74.40, 74.75, 69.85, 60.08, 48.05, 34.32, 18.37),
    "Grad-CAM++": (66.75, 73.53, 74.52, 74.86, 74.70, 70.88, 60.79, 48.06, 32.53, 14.92),
    "smoe × Grad-CAM++": (67.91, 73.33, 74.54, 74.82, 75.21, 70.20, 59.19, 46.05, 31.64, 14.99),
    protocol.SMOOTHGRAD: (63.25, 69.79, 72.20, 73.18, 73.96, 69.35, 60.28, 41.55, 29.45, 11.09),
    protocol.RANDOM: (63.53, 67.06, 69.13, 71.02, 72.65, 72.65, 71.02, 69.13, 67.06, 63.53),
}
"""Accuracies in percent (ResNet-50, ImageNet), in the order of `COLUMNS`."""
COLUMNS = [(mode, share) for mode in MODES for share in protocol.SHARES]


def paper_sum(method: str, columns: Sequence[tuple[str, float]]) -> float | None:
    """The paper's KAR minus its ROAR accuracies over some columns; None for maps that it does not have."""
    if not columns or method not in PAPER_INPUT:
        return None
    printed = dict(zip(COLUMNS, PAPER_INPUT[method], strict=True))
    return retrain_sums({column: printed[column] for column in columns})[2]
