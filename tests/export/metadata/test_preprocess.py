"""Preprocessing: as presets, as JSON, and from a model file."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fastcam_export import graft
from support.networks import small_cnn
from support.refusals import refusal_of
from support.running import metadata_of


def test_preprocess_from_json_and_from_the_models_own_metadata() -> None:
    described = {"order": "BGR", "mean": [104, 117, 124], "std": [1, 1, 1]}
    assert metadata_of(graft(small_cnn(), preprocess=json.dumps(described))).preprocess.order == "BGR"
    model = small_cnn()
    model.metadata_props.add(key="preprocess", value=json.dumps(described))
    assert metadata_of(graft(model)).preprocess.mean == (104, 117, 124)


def test_a_files_own_preprocess_may_say_more() -> None:
    model = small_cnn()
    described = {"mean": [1, 2, 3], "std": [1, 1, 1], "size": 64}
    model.metadata_props.add(key="preprocess", value=json.dumps(described))
    assert metadata_of(graft(model)).preprocess.mean == (1, 2, 3)


@pytest.mark.parametrize(
    ("preprocess", "message"),
    [
        ({"foo": 1}, "preprocess has no key 'foo'; there are order, mean, std"),
        ('{"maen": [1, 2, 3]}', "preprocess has no key 'maen'; closest: mean; there are"),
        ('{"mean": 1}', 'preprocess: mean is 1, not a list of numbers as in {"order": '),
        ('{"mean": "123"}', 'preprocess: mean is "123", not a list of numbers'),
        ('{"mean": [1, 2, 3]}', "preprocess lacks std; it looks like"),
        ('{"mean": [NaN, 0, 0], "std": [1, 1, 1]}', "mean holds [nan, 0.0, 0.0], not only"),
        ('{"mean": [0, 0, 0], "std": [1, 1e400, 1]}', "std holds [1.0, inf, 1.0], not only"),
        ({"mean": [10**400, 0, 0]}, "preprocess: mean is [1000"),
        ("[" * 100_000, "nor JSON such as"),
        ("[1, 2]", "preprocess '[1, 2]' has no keys and values such as"),
        ("caffe", "preprocess 'caffe' is neither one of imagenet, unit, signed, raw255 nor JSON"),
    ],
)  # fmt: skip
def test_mistakes(preprocess: Any, message: str) -> None:
    assert message in refusal_of(preprocess=preprocess)
