"""The headings of docs/troubleshooting.md are messages in the code."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator

import pytest
from support.paths import ROOT

PAGE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
HEADINGS = re.findall(r"^### `(.*)`$", PAGE, re.MULTILINE)
PLACEHOLDER = "…"


@functools.cache
def literals() -> tuple[str, ...]:
    """Every text in the code of both packages, without quotes and with `…` for placeholders."""
    return tuple(re.sub(r"[\"']", "", text) for text in _literals())


def _literals() -> Iterator[str]:
    for path in (*(ROOT / "export").rglob("*.py"), *(ROOT / "runtime").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = node.values
                yield "".join(str(p.value) if isinstance(p, ast.Constant) else PLACEHOLDER for p in parts)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


@pytest.mark.parametrize("heading", HEADINGS)
def test_the_message_is_in_the_code(heading: str) -> None:
    """One text in the code has all the words of a heading, in order."""
    parts = [part.strip() for part in re.sub(r"[\"']", "", heading).split(PLACEHOLDER)]
    pattern = re.compile(".*".join(re.escape(part) for part in parts if part), re.DOTALL)
    assert any(pattern.search(text) for text in literals()), heading


def test_there_are_headings() -> None:
    """A change of the headings must not silently empty the test above."""
    assert len(HEADINGS) >= 20
