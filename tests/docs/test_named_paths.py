"""Every path and every link in the documents exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.paths import ROOT

PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md")), ROOT / "benchmarks" / "README.md"]
PACKAGES = (ROOT / "export" / "fastcam_export", ROOT / "runtime" / "fastcam_runtime")
ROOMS = {folder.name for package in PACKAGES for folder in package.iterdir() if folder.is_dir()}
TOP = {"benchmarks", "docs", "export", "models", "runtime", "tests"}
MADE = ("benchmarks/results/", "demo/")
"""Folders that commands make."""


def named_paths(text: str) -> list[str]:
    """The paths in backticks that start at the checkout, or in a package: `load/view.py`, `explainer.py`."""
    found = re.findall(r"`([\w.-]+(?:/[\w.-]+)*/?)`", text)
    own = [path for path in found if path.partition("/")[0] in TOP | ROOMS and "/" in path]
    return [path for path in own if not path.startswith(MADE)]


def exists(path: str) -> bool:
    return any((root / path).exists() for root in (ROOT, *PACKAGES))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_named_paths_exist(page: Path) -> None:
    missing = [path for path in named_paths(page.read_text(encoding="utf-8")) if not exists(path)]
    assert not missing


def test_every_room_is_in_the_architecture() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = [folder for package in PACKAGES for folder in package.iterdir() if list(folder.glob("*.py"))]
    assert [str(room) for room in rooms if f"`{room.relative_to(ROOT)}/`" not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_paths_are_found() -> None:
    """A change of the documents must not silently empty the tests above."""
    assert len(named_paths((ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"))) > 40
    assert named_paths("`load/nowhere.py` and `analysis/`, not `a/b` or `fastcam run`") == [
        "load/nowhere.py",
        "analysis/",
    ]
    assert not exists("load/nowhere.py")
