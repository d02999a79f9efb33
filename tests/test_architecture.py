"""The shape of the code: which module may import which, how long modules are, and how many a folder holds."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from support.paths import ROOT

ROOTS = {"fastcam_runtime": ROOT / "runtime", "fastcam_export": ROOT / "export"}
MAX_LINES = 300
MAX_MODULES = 16
RUNTIME_IMPORTS = {"numpy", "onnxruntime", "cv2", "fastcam_runtime"}
OPTIONAL = {"picamera2", "fastcam_models"}
"""Imported only if a camera, or the shipped model, is requested."""

ROOMS_BELOW = {
    "native": set[str](),
    "model": {"native"},
    "prepared": {"model", "native"},
    "measure": {"model", "native", "prepared"},
    "detect": set[str](),
    "draw": {"detect", "model", "native"},
    "network": set[str](),
    "web": {"measure", "model", "network"},
    "sources": set[str](),
    "sinks": {"detect", "draw", "live", "network", "web"},
    "live": {"detect", "draw", "measure", "model", "sinks", "sources"},
    "cli": {
        *("detect", "draw", "live", "measure", "model", "native", "network", "prepared", "sinks", "sources"),
        "web",
    },
}
"""For each room of the runtime, the other rooms that it may import. All may import the modules at the top."""


def name_of(path: Path, root: Path) -> str:
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def modules() -> dict[str, Path]:
    return {
        name_of(path, root): path
        for name, root in ROOTS.items()
        for path in sorted((root / name).rglob("*.py"))
    }


MODULES = modules()
MEASURING = [
    path
    for path in sorted((ROOT / "benchmarks").rglob("*.py"))
    if "results" not in path.relative_to(ROOT).parts
]
"""The modules of the benchmarks; what these install for others is in `results`."""


def imported_by(name: str, *, at_start: bool = False) -> set[str]:
    """The modules that a module names in its imports; `at_start`: only those that run when it is imported."""
    tree = ast.parse(MODULES[name].read_text())
    package = name if MODULES[name].name == "__init__.py" else name.rpartition(".")[0]
    found: set[str] = set()
    for node in tree.body if at_start else ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            base = ".".join(parts[: len(parts) - node.level + 1]) if node.level else ""
            source = ".".join(filter(None, (base, node.module)))
            inside = {f"{source}.{alias.name}" for alias in node.names} & set(MODULES)
            named = {alias.name for alias in node.names if f"{source}.{alias.name}" not in MODULES}
            found |= inside | ({source} if named else set())
    return found


def room_of(name: str) -> str:
    """The room of the runtime that a module is in; empty for the modules at the top and other packages."""
    parts = name.split(".")
    inside = parts[0] == "fastcam_runtime" and (ROOTS[parts[0]] / parts[0] / "/".join(parts[1:2])).is_dir()
    return parts[1] if inside and len(parts) > 1 else ""


@pytest.mark.slow
def test_no_import_cycles() -> None:
    graph = {name: imported_by(name, at_start=True) & set(MODULES) - {name} for name in MODULES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


@pytest.mark.parametrize("room", sorted(ROOMS_BELOW))
def test_a_room_imports_only_the_rooms_below_it(room: str) -> None:
    inside = [name for name in MODULES if room_of(name) == room]
    assert inside
    others = {room_of(found) for name in inside for found in imported_by(name)} - {room, ""}
    assert others <= ROOMS_BELOW[room]


def test_every_room_is_listed() -> None:
    assert {room_of(name) for name in MODULES} - {""} == set(ROOMS_BELOW)


def test_the_runtime_needs_only_numpy_onnxruntime_and_opencv() -> None:
    found = {
        module.partition(".")[0]
        for name in MODULES
        if name.startswith("fastcam_runtime")
        for module in imported_by(name)
    }
    assert found - sys.stdlib_module_names - OPTIONAL == RUNTIME_IMPORTS


def test_no_class_or_type_has_the_name_of_another() -> None:
    """A word means one thing, in the product and in its benchmarks. Private names do not count."""
    places: dict[str, list[str]] = {}
    for path in [*MODULES.values(), *MEASURING]:
        for found in re.finditer(
            r"^(?:class ([A-Z]\w*)|([A-Z]\w*[a-z]\w*) = [\w.]+\[)", path.read_text(), re.M
        ):
            places.setdefault(found[1] or found[2], []).append(str(path.relative_to(ROOT)))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_no_module_is_too_long() -> None:
    lengths = {name: len(path.read_text().splitlines()) for name, path in MODULES.items()}
    assert {name: length for name, length in lengths.items() if length > MAX_LINES} == {}


def test_no_folder_holds_too_many_modules() -> None:
    counts = Counter(path.parent for path in {*MODULES.values(), *MEASURING})
    assert {str(folder): count for folder, count in counts.items() if count > MAX_MODULES} == {}
