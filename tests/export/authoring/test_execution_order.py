"""The order in which onnxruntime runs a grafted file: every map right after its tap.

A tap that is read only after the whole network has run is no longer in the cache by then, and holds
its memory until then. onnxruntime's order follows from that of the nodes in the file.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fastcam_export import graft
from fastcam_runtime import native
from support.networks import small_cnn
from support.profiled import nodes_run

OUTPUTS = [
    ["saliency_map"],
    ["saliency_map", "scales", "lovi"],
    ["saliency_map", "cam"],
    ["fastcam"],
    ["nonclass"],
    ["saliency_map", "scales", "lovi", "cam", "fastcam", "nonclass"],
]


@pytest.mark.slow
@pytest.mark.parametrize("outputs", OUTPUTS, ids=",".join)
@pytest.mark.parametrize("compiled", [False, True])
def test_a_map_follows_its_tap(outputs: list[str], compiled: bool, tmp_path: Path) -> None:
    if compiled and native.library_path() is None:
        pytest.skip(native.status())
    model = graft(small_cnn(), outputs=outputs).SerializeToString()
    picture = np.ones((1, 3, 64, 64), np.float32)
    order = nodes_run(model, {"input": picture}, tmp_path, compiled=compiled)
    convolutions = [i for i, (_, op) in enumerate(order) if op == "Conv"]
    scales = [i for i, (name, _) in enumerate(order) if "SmoeScale" in name or "/smoe" in name]
    head = next(i for i, (_, op) in enumerate(order) if op in ("Gemm", "MatMul") and i > convolutions[-1]
                and "SmoeScale" not in order[i][0] and "Combine" not in order[i][0])  # fmt: skip
    for earlier, later in zip(convolutions, [*convolutions[1:], head], strict=True):
        assert any(earlier < i < later for i in scales), (earlier, later, order)
