"""Building the compiled kernels: clean under the sanitizers, and never in the way of an installation."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NATIVE = ROOT / "runtime" / "fastcam_runtime" / "native"
HARNESS = Path(__file__).with_name("native_harness.c")
COMPILERS = ("gcc", "clang")


def compiler(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"no {name} here")
    return found


@pytest.mark.parametrize("name", COMPILERS)
def test_kernels_are_clean_under_the_sanitizers(name: str, tmp_path: Path) -> None:
    program = tmp_path / "harness"
    sources = [HARNESS, NATIVE / "blend_halves.c", *sorted(NATIVE.glob("kernels_*.c"))]
    flags = ["-std=gnu11", "-O2", "-g", "-fno-math-errno", "-fno-trapping-math", f"-I{NATIVE}"]
    flags += ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    command = [compiler(name), *flags, *map(str, sources), "-lm", "-o", str(program)]
    built = subprocess.run(command, capture_output=True, text=True)
    if "asan" in built.stderr and "cannot" in built.stderr:
        pytest.skip(f"{name} has no sanitizers here: {built.stderr.splitlines()[0]}")
    assert built.returncode == 0, built.stderr
    # The sanitizer's leak check needs to trace the process, which containers often forbid.
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
    for seed in ("1", "2", "233", "377"):
        ran = subprocess.run([str(program), seed], capture_output=True, text=True, env=environment)
        assert ran.returncode == 0, ran.stderr or ran.returncode
        assert len(ran.stdout.splitlines()) == 2
        for line in ran.stdout.splitlines():
            instructions, smoe, gauss, combine, classes = line.split()
            assert float(smoe) <= 1e-5, (instructions, seed)
            assert float(gauss) <= 1e-6, (instructions, seed)
            assert float(combine) <= 1e-6, (instructions, seed)
            assert float(classes) <= 1e-6, (instructions, seed)


@pytest.mark.parametrize("name", COMPILERS)
def test_everything_compiles_without_a_warning(name: str) -> None:
    sources = [str(path) for path in (HARNESS, *sorted(NATIVE.glob("*.c")))]
    command = [compiler(name), "-std=gnu11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{NATIVE}"]
    built = subprocess.run([*command, *sources], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr


def build(target: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the extension's build as an installation does, into `target`."""
    pytest.importorskip("setuptools")
    command = [sys.executable, "setup.py", "build_ext", "--build-lib", str(target / "lib")]
    command += ["--build-temp", str(target / "temp")]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, **environment}
    )


def test_without_a_compiler_the_installation_goes_on(tmp_path: Path) -> None:
    missing = str(tmp_path / "no-such-compiler")
    built = build(tmp_path, CC=missing, CXX=missing, LDSHARED=missing)
    assert built.returncode == 0, built.stderr
    assert not list(tmp_path.glob("lib/**/fastcam_ops.*"))


def test_with_a_failing_compiler_the_installation_goes_on(tmp_path: Path) -> None:
    built = build(tmp_path, CC=shutil.which("false") or "false")
    assert built.returncode == 0, built.stderr
    assert not list(tmp_path.glob("lib/**/fastcam_ops.*"))


def test_with_a_compiler_one_library_is_built(tmp_path: Path) -> None:
    if not any(map(shutil.which, ("cc", *COMPILERS))):
        pytest.skip("no C compiler here")
    built = build(tmp_path)
    assert built.returncode == 0, built.stderr
    (library,) = tmp_path.glob("lib/**/fastcam_ops.*")
    assert library.parent.parts[-2:] == ("fastcam_runtime", "native")
