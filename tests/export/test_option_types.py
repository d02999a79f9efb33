"""The keywords of `graft` and `export` as a type checker sees them."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import typing
from pathlib import Path

import pytest
from fastcam_export import Options
from fastcam_export.option_types import GraftOptions
from support.paths import ROOT


def test_the_keywords_are_the_fields_of_options() -> None:
    assert list(typing.get_type_hints(GraftOptions)) == [field.name for field in dataclasses.fields(Options)]


@pytest.mark.slow  # mypy reads both packages
def test_mypy_finds_a_misspelt_option(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(
        "import fastcam_export\n"
        'fastcam_export.graft("m.onnx", outputs="cam", labels="names.txt", input_shape=(1, 3, 64, 64))\n'
        'fastcam_export.graft("m.onnx", outputz="cam")\n'
        'fastcam_export.export("m.onnx", "out.onnx", epsilon="small")\n'
    )
    command = [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", file]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300)
    found = [line for line in done.stdout.splitlines() if "error" in line and "Found" not in line]
    assert len(found) == 2, done.stdout
    assert 'program.py:3: error: Unexpected keyword argument "outputz"' in found[0]
    assert 'program.py:4: error: Argument "epsilon"' in found[1]
