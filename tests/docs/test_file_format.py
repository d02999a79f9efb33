"""docs/file-format.md and docs/metadata.schema.json against files that the exporter writes."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import fastcam_export
import fastcam_models
import jsonschema
import numpy as np
import onnx
import pytest
from fastcam_export.choices import MAP_OUTPUTS, NORMALIZATIONS, STATISTICS
from fastcam_runtime import contract
from fastcam_runtime.detect.head import ACTIVATIONS, DECODINGS, LAYOUTS, Grid, Head
from support.paths import ROOT
from support.shared_data import shared

SCHEMA = json.loads((ROOT / "docs" / "metadata.schema.json").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "file-format.md").read_text(encoding="utf-8")

NETWORK = """
<ir_version: 9, opset_import: ["" : 17]>
tiny (float[N,3,32,32] image) => (float[N,4] scores)
{
    a = Conv <strides=[2,2], pads=[1,1,1,1]> (image, w1)
    b = Relu (a)
    c = Conv <strides=[2,2], pads=[1,1,1,1]> (b, w2)
    d = Relu (c)
    e = GlobalAveragePool (d)
    f = Flatten (e)
    scores = MatMul (f, w3)
}
"""


def section(title: str) -> str:
    return PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]


def first_column(table: str) -> list[str]:
    """The names in the first cells of a Markdown table's rows."""
    return [
        name
        for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", row)
    ]


def network() -> onnx.ModelProto:
    model = onnx.parser.parse_model(NETWORK)
    rng = np.random.default_rng(0)
    for name, shape in (("w1", (8, 3, 3, 3)), ("w2", (16, 8, 3, 3)), ("w3", (16, 4))):
        weights = rng.standard_normal(shape).astype(np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(weights, name))
    return model


def metadata(model: onnx.ModelProto) -> dict[str, Any]:
    (text,) = (entry.value for entry in model.metadata_props if entry.key == contract.METADATA_KEY)
    found: dict[str, Any] = json.loads(text)
    return found


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"outputs": contract.OUTPUTS, "labels": ["a", "b", "c", "d"]},
        {"outputs": ["cam"], "cam": "gradcam", "class_input": "required"},
        {"statistic": "truncnormal_entropy", "normalize": "range", "resize": "letterbox"},
        {"preprocess": {"order": "BGR", "mean": [104, 117, 124], "std": [1, 1, 1]}, "resize": "crop"},
        {"channel_share": 0.5, "weights": "equal", "inline": True, "epsilon": 0.01},
    ],
    ids=str,
)
def test_what_is_exported_is_as_described(options: dict[str, Any]) -> None:
    model = fastcam_export.graft(network(), **options)
    found = metadata(model)
    jsonschema.validate(found, SCHEMA)
    assert [output.name for output in model.graph.output] == ["scores", *found["outputs"]]
    documented = first_column(section("Outputs"))
    assert {re.sub(r"_\d+$", "_1", name) for name in found["outputs"]} <= set(documented)
    assert {value.name for value in model.graph.input} - {"image"} <= set(first_column(section("Inputs")))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["mobilenet_v2.onnx", "mobilenet_v2-int8-qdq.onnx", "squeezenet1_1-fp16.onnx", None], ids=str
)
def test_real_files_are_as_described(name: str | None, tmp_path: Path) -> None:
    source = fastcam_models.default_model() if name is None else shared(f"models/{name}")
    fastcam_export.export(
        source, tmp_path / "grafted.onnx", outputs=["saliency_map", "scales", "lovi", "cam"]
    )
    jsonschema.validate(metadata(onnx.load(tmp_path / "grafted.onnx")), SCHEMA)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["yolox_nano.onnx", "yunet_n_640.onnx", "RFB-320.onnx"])
def test_real_detectors_are_as_described(name: str, tmp_path: Path) -> None:
    fastcam_export.export(shared(f"models/detectors/{name}"), tmp_path / "grafted.onnx", outputs=["cam"])
    found = metadata(onnx.load(tmp_path / "grafted.onnx"))
    jsonschema.validate(found, SCHEMA)
    assert found["cam"] == "scores"
    assert found["detector"]["why"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("version", 2),
        ("layout", "NCHW"),
        ("outputs", ["map"]),
        ("outputs", []),
        ("preprocess", {"order": "GRAY", "mean": [0, 0, 0], "std": [1, 1, 1]}),
        ("preprocess", {"order": "RGB", "mean": [0, 0, 0], "std": [1, 0, 1]}),
        ("taps", [{"name": "relu", "shape": [None, 8, 16], "weight": 1}]),
        ("source_sha256", "none"),
    ],
)
def test_the_schema_refuses_what_the_runtime_could_not_read(key: str, value: Any) -> None:
    found = metadata(fastcam_export.graft(network()))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**found, key: value}, SCHEMA)


def test_every_key_is_in_the_page_and_in_the_schema() -> None:
    keys = [field.name for field in dataclasses.fields(contract.Metadata)]
    assert sorted(first_column(section("Metadata"))) == sorted(keys)
    assert sorted(SCHEMA["properties"]) == sorted(keys)
    # Only some files have these; they are left out of the others.
    assert set(keys) - set(SCHEMA["required"]) == {"detector", "frame", "provenance", "scores_shape"}
    for name, kind in (("image", contract.ImageInput), ("preprocess", contract.Preprocess)):
        assert set(SCHEMA["properties"][name]["properties"]) == {f.name for f in dataclasses.fields(kind)}
    detector = SCHEMA["properties"]["detector"]["properties"]
    assert set(detector) == {field.name for field in dataclasses.fields(Head)}
    grid = detector["grids"]["items"]["properties"]
    assert set(grid) == {field.name for field in dataclasses.fields(Grid)}
    for name, known in (("layout", LAYOUTS), ("decode", DECODINGS), ("activation", ACTIVATIONS)):
        assert detector[name]["enum"] == list(known)
    tap = SCHEMA["properties"]["taps"]["items"]["properties"]
    assert set(tap) == {field.name for field in dataclasses.fields(contract.TapInfo)}


def test_the_choices_are_those_of_the_exporter() -> None:
    choices = {name: one["enum"] for name, one in SCHEMA["properties"].items() if "enum" in one}
    assert choices["statistic"] == list(STATISTICS)
    assert choices["normalize"] == list(NORMALIZATIONS)
    assert choices["resize"] == list(contract.RESIZE)
    assert SCHEMA["properties"]["version"]["const"] == contract.FORMAT_VERSION


def test_every_output_and_input_is_in_the_page() -> None:
    names = [*contract.output_names(contract.OUTPUTS, 1), contract.MAP_BYTES, contract.MAP_RGBA]
    described = [name for name in first_column(section("Outputs")) if not name.endswith("_K")]
    assert sorted(described) == sorted(names)
    for form in MAP_OUTPUTS:
        graph = fastcam_export.graft(network(), outputs="all", map_output=form).graph
        written = [output.name for output in graph.output if output.name in names]
        assert written == [name for name in described if name in written]
        assert len(written) == len(names) - 1
    assert first_column(section("Inputs")) == list(contract.CHOICE_INPUTS)
