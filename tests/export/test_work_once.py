"""Each analysis of a network runs once per export, for any outputs."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

import fastcam_export
import pytest
from fastcam_export.analysis import activations, dominators, ends, geometry, inference, plan, scores, shapes
from fastcam_export.cam import class_head
from support.networks import small_cnn

ANALYSES = (
    plan.plan,
    ends.find_ends,
    shapes.concrete_shapes,
    geometry.geometries,
    activations.kinds,
    dominators.dominators,
    scores.find_logits,
    class_head.find_head,
    class_head.infer_head,
)


def count_calls(functions: tuple[Callable[..., Any], ...], work: Callable[[], object]) -> Counter[str]:
    """How often `work` calls each of the functions."""
    names = {function.__code__: function.__name__ for function in functions}
    counts: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code in names:
            counts[names[frame.f_code]] += 1

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return counts


@pytest.mark.slow
@pytest.mark.parametrize("taps", ["auto", "a1,a2,a3"])
@pytest.mark.parametrize("size", ["float[1,3,64,64] input", "float[N,3,H,W] input"])
def test_every_analysis_runs_once(taps: str, size: str) -> None:
    model = small_cnn(size)
    outputs = "saliency_map,scales,lovi,cam,fastcam,nonclass"
    counts = count_calls(ANALYSES, lambda: fastcam_export.graft(model, outputs=outputs, taps=taps))
    assert counts == {function.__name__: 1 for function in ANALYSES}


@pytest.mark.slow
@pytest.mark.parametrize("size", ["float[1,3,64,64] input", "float[N,3,H,W] input"])
def test_shapes_are_inferred_once_for_the_network_and_once_for_the_head(size: str) -> None:
    model = small_cnn(size)
    counts = count_calls((inference.infer,), lambda: fastcam_export.graft(model, outputs="cam"))
    assert counts["infer"] <= 2
