"""The table of rules for the metadata, against docs/metadata.schema.json and a validator of JSON Schema."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from fastcam_runtime.contract import Metadata
from fastcam_runtime.errors import ModelError
from fastcam_runtime.metadata_rules import RULES, check_metadata
from support.paths import ROOT
from support.tiny_grafts import make_graft

SCHEMA = jsonschema.Draft202012Validator(
    json.loads((ROOT / "docs" / "metadata.schema.json").read_text(encoding="utf-8"))
)

ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 3, 7, 3.7, -0.5, 1e-300, 10**9, 10**18, 2.5e9, "", "abc", "x" * 5_000,
    "x" * 1_001, "\x1b[2J\n", [], [1], [None], ["a"], ["a", "a"], [[1]], [0.5] * 3, ["x" * 1_001],
    {}, {"name": 1},
)  # fmt: skip
"""Values that a hostile file may have anywhere. There is no 224.0: JSON Schema takes it for an integer, the
reader does not."""

WORDS = ("statistic", "normalize", "cam")
"""Names of the exporter's methods. The schema lists them; a device reads them only to show them."""


TEXT = make_graft().metadata_props[0].value


def document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(TEXT)
    return found


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to all values of a document."""
    if path:
        yield path
    for key, part in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield from places(part, (*path, key))


def replaced(path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    changed = document()
    *outer, last = path
    inner: Any = changed
    for key in outer:
        inner = inner[key]
    inner[last] = value
    return changed


def refusal_of(changed: dict[str, Any]) -> str:
    try:
        Metadata.from_json(json.dumps(changed))
    except ModelError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("path", list(places(document())), ids=str)
def test_the_table_and_the_schema_agree(path: tuple[Any, ...]) -> None:
    for odd in ODD:
        if path[0] in WORDS and isinstance(odd, str):
            continue
        changed = replaced(path, odd)
        valid = SCHEMA.is_valid(changed)
        refusal = refusal_of(changed)
        assert "\n" not in refusal
        assert len(refusal) < 400
        accepted = not refusal
        if path == ("preprocess", "order") or path[:2] in (("preprocess", "mean"), ("preprocess", "std")):
            assert not (accepted and not valid), (path, odd)  # the reader is stricter: no tiny deviation
            continue
        assert accepted == valid, (path, odd)


def test_every_key_of_the_schema_has_a_row() -> None:
    def rows(schema: dict[str, Any], row: str) -> Iterator[str]:
        for key, part in schema.get("properties", {}).items():
            inner = f"{row}.{key}" if row else key
            yield inner
            yield from rows(part, inner)
            items = part.get("items")
            if items is not None:
                yield f"{inner}[]"
                yield from rows(items, f"{inner}[]")

    described = set(rows(SCHEMA.schema, ""))
    assert described <= set(RULES) | {"preprocess.mean[]"}


def test_every_row_belongs_to_a_field() -> None:
    fields = {row.partition(".")[0].partition("[")[0] for row in RULES}
    assert fields <= set(Metadata.__dataclass_fields__)


@pytest.mark.parametrize(
    ("path", "odd", "message"),
    [
        (("image", "height"), 0, r"'image\.height' is 0, not a whole number of 1 to 32768"),
        (("image", "height"), 3.7, r"'image\.height' is 3\.7"),
        (("image", "height"), 10**9, r"'image\.height' is 1000000000"),
        (("image", "layout"), 7, r"'image\.layout' is 7, not one of NCHW, NHWC"),
        (("resize",), 9, r"'resize' is 9, not one of stretch, crop, letterbox"),
        (("labels",), 5, r"'labels' is 5, not a list"),
        (("labels",), "abc", r"'labels' is 'abc', not a list"),
        (("labels",), ["x" * 50_000], r"'labels\[0\]' is a text of 50000 characters"),
        (("taps",), [{"name": "a"}], r"lacks 'taps\[0\]\.shape'"),
    ],
)
def test_a_refusal_names_the_key_and_what_it_may_hold(path: tuple[Any, ...], odd: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        check_metadata(replaced(path, odd))


def test_many_pixels_are_refused_though_each_side_is_allowed() -> None:
    changed = copy.deepcopy(document())
    changed["image"] |= {"height": 30_000, "width": 30_000}
    check_metadata(changed)
    with pytest.raises(ModelError, match="30000×30000: 8388608 pixels are the limit"):
        Metadata.from_json(json.dumps(changed))


def test_a_key_of_a_newer_writer_is_ignored() -> None:
    changed = document() | {"unheard_of": {"height": 0}}
    assert Metadata.from_json(json.dumps(changed)).image.height == document()["image"]["height"]
