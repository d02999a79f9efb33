"""The forms of a network."""

from __future__ import annotations

from fastcam_export.tune.forms import cheaper_forms, exact_forms
from support.tuned import CHEAPER, SHAPES


def test_forms_of_a_small_network() -> None:
    assert [(form.name, form.exact) for form in exact_forms(kernels=True)] == [
        ("prepared", True),
        ("functions", True),
        ("inline", True),
    ]
    assert [form.name for form in exact_forms(kernels=False)] == ["functions"]
    forms = cheaper_forms(SHAPES, kernels=False)
    assert [form.name for form in forms] == CHEAPER
    assert not any(form.exact for form in forms)
    shares = {form.name: form.options["channel_share"] for form in forms}
    assert shares["half-1"] == (0.5, 1, 1)
    assert shares["quarter-1-2"] == (0.25, 0.25, 1)
    assert shares["without-1+half-2"] == (0, 0.5, 1)
    assert shares["without-1-2"] == (0, 0, 1)
    with_kernels = [form.name for form in cheaper_forms(SHAPES, kernels=True)]
    assert with_kernels == ["quarter-1", *(name for name in CHEAPER if "half" not in name)]


def test_forms_that_would_read_the_same_channels_are_one() -> None:
    """Channels are read in groups of four: a quarter of eight channels becomes a half, of four all."""
    few = [(1, 8, 32, 32), (1, 4, 16, 16)]
    assert [form.name for form in cheaper_forms(few, kernels=False)] == ["half-1", "without-1"]


def test_the_largest_scales_go_first_and_one_remains() -> None:
    middle = [(1, 4, 32, 32), (1, 64, 32, 32), (1, 8, 8, 8)]
    assert [form.name for form in cheaper_forms(middle, kernels=False)] == [
        "half-2", "quarter-2", "without-2", "without-1-2",
    ]  # fmt: skip
    assert [form.name for form in cheaper_forms([(1, 16, 32, 32)], kernels=False)] == ["half-1", "quarter-1"]
    resnet50 = [(1, 64, 112, 112), (1, 256, 56, 56), (1, 512, 28, 28), (1, 1024, 14, 14), (1, 2048, 7, 7)]
    found = [form.name for form in cheaper_forms(resnet50, kernels=False)]
    assert "half-1-2-3" in found
    assert found[-1] == "without-1-2-3"
    assert len(set(found)) == len(found)
