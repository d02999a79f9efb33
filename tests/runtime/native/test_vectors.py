"""The loops that take the time become vectors on 64-bit ARM: what the compiler says, and what it made."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.paths import ROOT

pytestmark = pytest.mark.slow

NATIVE = ROOT / "runtime/fastcam_runtime/native"
GCC, OBJDUMP = "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-objdump"
HOT = {
    "kernels_generic.c": {
        "smoe_columns.h": ("gather", "renormalize"),
        "smoe_scale.h": ("finish_columns",),
        "combine_scales.h": ("stretch_evenly", "add_parts"),
        "gauss_normalize.h": ("gauss_normalize",),
        "blend_rows.h": ("blend_bytes",),
    },
}
"""Source, and the functions whose loops are to be vectors. Where `lanes.h` reads bytes in NEON's terms, and
for the table of colours, there is nothing for the compiler to find."""
VECTOR = re.compile(r"\bf(?:mul|mla|add)\s+v\d+\.(?:4s|2d)\b")


def flags() -> list[str]:
    """Those of an installation."""
    match = re.search(r"GNU_FLAGS = (\[.*?\])", (ROOT / "setup.py").read_text(), re.DOTALL)
    assert match is not None
    return re.findall(r'"([^"]+)"', match[1])


def compiled(source: str, target: Path) -> str:
    """What the compiler tells about vectors while it compiles for 64-bit ARM."""
    if sys.platform != "linux" or shutil.which(GCC) is None or shutil.which(OBJDUMP) is None:
        pytest.skip(f"no {GCC} here")
    command = [GCC, *flags(), "-fPIC", "-fopt-info-vec-optimized", "-c", source, "-o", str(target)]
    built = subprocess.run(command, cwd=NATIVE, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return built.stderr


def loops(file: str, function: str) -> list[int]:
    """The lines of the loops in a function."""
    lines = (NATIVE / file).read_text().splitlines()
    starts = [i for i, line in enumerate(lines) if re.match(rf"\S.*\b{function}\(", line)]
    assert starts, f"no {function} in {file}"
    end = next(i for i in range(starts[0], len(lines)) if lines[i] == "}")
    return [i + 1 for i in range(starts[0], end) if lines[i].lstrip().startswith("for (")]


@pytest.mark.parametrize("source", HOT)
def test_hot_loops_become_vectors(source: str, tmp_path: Path) -> None:
    told = compiled(source, tmp_path / "code.o")
    found = {
        (file, int(line)) for file, line in re.findall(r"^(\S+?):(\d+):\d+: optimized: +loop vec", told, re.M)
    }
    for file, functions in HOT[source].items():
        for function in functions:
            assert any((file, line) in found for line in loops(file, function)), f"{function} in {file}"


def test_smoe_and_combination_compute_with_vectors(tmp_path: Path) -> None:
    compiled("kernels_generic.c", tmp_path / "code.o")
    code = subprocess.run([OBJDUMP, "-d", tmp_path / "code.o"], capture_output=True, text=True, check=True)
    bodies = dict(re.findall(r"^[0-9a-f]+ <(\w+)[^>]*>:\n(.*?)(?=^\s*$|\Z)", code.stdout, re.M | re.S))
    for function in ("gather_positive", "gather_rectified", "finish_columns", "combine_rows"):
        assert len(VECTOR.findall(bodies[function])) > 10, function
