"""The values of options, and their defaults. Devices show them in their help: nothing here needs onnx."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

STATISTICS = (
    "smoe",
    "std",
    "mean",
    "max",
    "shannon",
    "lognormal_mean",
    "lognormal_entropy",
    "truncnormal_mean",
    "truncnormal_std",
    "truncnormal_entropy",
)
"""The statistics; the first is the default."""
COMPILED = "smoe"
"""The statistic that has a compiled kernel."""
WITH_EPSILON = ("smoe", "shannon", "lognormal_mean", "lognormal_entropy")
"""Statistics that add ε to the activations, to take their logarithm."""
OF_SPREAD = ("smoe", "std", "shannon", "truncnormal_std", "truncnormal_entropy")
"""Statistics that measure how the channels differ. For a single channel they are constant."""
WEAK = ("shannon", "lognormal_entropy")
"""Statistics whose maps did clearly worse than `smoe` in docs/quality.md."""
PRE_ACTIVATION = ("truncnormal_mean", "truncnormal_std", "truncnormal_entropy")
"""Statistics of the tensor before the activation function."""

NORMALIZATIONS = ("gauss", "gamma", "range")
"""The normalisations; the first is the default."""

WEIGHTS = ("prior", "equal", "linear")
"""The named weights."""

PAPER_CAM = "gradcam++"
"""The paper's class map. It hardly depends on the class: see docs/quality.md."""
LAYERCAM = "layercam"
"""The best class map of mobile networks, see docs/quality.md, and its cost, see docs/method.md."""
CAM_METHODS = ("gradcam", PAPER_CAM, LAYERCAM)
"""The class maps; the first is the default."""

CLASS_INPUTS = ("optional", "required")
MAP_OUTPUTS = ("uint8", "rgba")

PAPER: Mapping[str, Any] = {
    "statistic": "smoe",
    "normalize": "gauss",
    "weights": "prior",
    "epsilon": 1e-6,
    "cam": PAPER_CAM,
    "cam_epsilon": 0.0,
}
"""The options that `paper` sets. Its prior weights are for five scales, as in the paper's networks."""

TUNE_PICTURES = "test://?frames=16"
"""The default pictures of `fastcam tune`."""
MOST_CALIBRATED = 128
"""Most pictures that `fastcam quantize` reads: more hardly change the ranges of the activations."""
