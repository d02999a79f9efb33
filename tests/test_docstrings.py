"""Every example in a docstring, run in a folder with the files that the examples name."""

from __future__ import annotations

import doctest
import importlib
import shutil
from pathlib import Path
from types import ModuleType

import fastcam_export
import fastcam_models
import fastcam_runtime
import pytest


def modules(package: ModuleType) -> list[str]:
    """The names of the modules of a package that have examples; only these are imported."""
    (root,) = map(Path, package.__path__)
    files = [path for path in sorted(root.rglob("*.py")) if ">>> " in path.read_text(encoding="utf-8")]
    parts = [path.relative_to(root.parent).with_suffix("").parts for path in files]
    return [".".join(part for part in names if part != "__init__") for names in parts]


def examples(names: list[str]) -> list[doctest.DocTest]:
    finder = doctest.DocTestFinder()
    found = (test for name in names for test in finder.find(importlib.import_module(name), name))
    return [test for test in found if test.examples]


EXAMPLES = examples(modules(fastcam_export) + modules(fastcam_runtime))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with model.onnx, model-fastcam.onnx and photo.jpg."""
    place = tmp_path_factory.mktemp("examples")
    clip = Path(fastcam_runtime.__file__).parent / "sources" / "clip"
    shutil.copy(clip / "chelsea.jpg", place / "photo.jpg")
    shutil.copy(fastcam_models.default_model(), place / "model.onnx")
    labels = fastcam_models.default_model().parent / "imagenet_labels.txt"
    fastcam_export.export(place / "model.onnx", place / "model-fastcam.onnx", labels=labels)
    return place


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_example(example: doctest.DocTest, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    skipped = [one.source for one in example.examples if one.options.get(doctest.SKIP)]
    assert not skipped
    report: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(example, out=report.append)
    assert result.failed == 0, "".join(report)


def test_the_entrances_have_examples() -> None:
    """A change of the search must not silently empty the test above."""
    names = {example.name for example in EXAMPLES}
    assert {"fastcam_export", "fastcam_runtime.explainer.Explainer"} <= names
    assert "fastcam_runtime.draw.overlay.overlay" in names
