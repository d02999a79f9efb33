"""Inputs and outputs by URI: one registry each, which the help and the messages use."""

from __future__ import annotations

from typing import Any

import pytest
from fastcam_runtime.cli.main import main
from fastcam_runtime.sinks import registry as sinks
from fastcam_runtime.sinks.registry import is_interactive
from fastcam_runtime.sources import registry as sources
from fastcam_runtime.uri_kinds import UriKind
from support.paths import ROOT

EVERY: list[tuple[tuple[UriKind[Any, Any], ...], UriKind[Any, Any], str]] = [
    (kinds, kind, example)
    for kinds in (sources.KINDS, sinks.KINDS)
    for kind in kinds
    for example in kind.usage
]


@pytest.mark.parametrize(("kinds", "kind", "example"), EVERY, ids=[example for *_, example in EVERY])
def test_an_example_of_the_help_means_its_own_kind(
    kinds: tuple[UriKind[Any, Any], ...], kind: UriKind[Any, Any], example: str
) -> None:
    assert next(found for found in kinds if found.accepts(example)) is kind


def test_the_help_and_the_readme_name_every_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    told = capsys.readouterr().out
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for _, kind, example in EVERY:
        assert f"  {example} " in told
        assert kind.usage[example] in told
        assert f"`{example}`" in readme


@pytest.mark.parametrize(
    ("uri", "watched"),
    [
        ("display://", True),
        ("http://:8000", True),
        ("out.mp4", False),
        ("null://", False),
        ("ftp://a", False),
    ],
)
def test_which_outputs_a_person_looks_at(uri: str, watched: bool) -> None:
    assert is_interactive(uri) is watched
