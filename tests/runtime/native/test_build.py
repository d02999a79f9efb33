"""Building the compiled kernels: clean under the sanitizers, and never an obstacle to installation."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.paths import ROOT

NATIVE = ROOT / "runtime" / "fastcam_runtime" / "native"
HARNESS = Path(__file__).with_name("native_harness.c")
COMPILERS = ("gcc", "clang")
KERNELS = [str(NATIVE / "blend_levels.c"), *map(str, sorted(NATIVE.glob("kernels_*.c")))]
SANITIZED = ["-std=gnu11", "-g", "-fno-math-errno", "-fno-trapping-math", f"-I{NATIVE}"]
SANITIZED += ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]

RUN_WITH = """
import sys
from pathlib import Path
import pytest
from fastcam_runtime import native
native._LIBRARY = Path(sys.argv[1])
sys.exit(pytest.main(sys.argv[2:]))
"""
"""Runs pytest with another library than the installed one."""


def compiler(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"no {name} here")
    return found


@pytest.fixture(scope="module", params=COMPILERS)
def sanitized(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A compiler, and a folder with all kernels as it compiled them for the sanitizers.

    That takes a minute, and two tests link them.
    """
    folder = tmp_path_factory.mktemp(request.param)
    sources = map(str, (*sorted(NATIVE.glob("*.c")), HARNESS))
    flags = [*SANITIZED, "-O1", "-fPIC", "-fvisibility=hidden", "-c"]
    built = subprocess.run([compiler(request.param), *flags, *sources], cwd=folder, capture_output=True)
    assert built.returncode == 0, built.stderr.decode()
    return compiler(request.param), folder


@pytest.mark.slow
def test_kernels_are_clean_under_the_sanitizers(sanitized: tuple[str, Path], tmp_path: Path) -> None:
    (name, folder), program = sanitized, tmp_path / "harness"
    objects = [str(folder / f"{Path(source).stem}.o") for source in (HARNESS, *KERNELS)]
    command = [name, "-fsanitize=address,undefined", *objects, "-lm", "-o", str(program)]
    built = subprocess.run(command, capture_output=True, text=True)
    if "asan" in built.stderr and "cannot" in built.stderr:
        pytest.skip(f"{name} has no sanitizers here: {built.stderr.splitlines()[0]}")
    assert built.returncode == 0, built.stderr
    # The sanitizer's leak check needs to trace the process, which containers often forbid.
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
    for seed in ("1", "2", "233", "377"):
        assert judged([str(program), seed, "300"], environment) == 2


def judged(command: list[str], environment: dict[str, str]) -> int:
    """Run the harness and check its figures; returns the number of instruction sets."""
    ran = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert ran.returncode == 0, ran.stderr or ran.returncode
    for line in ran.stdout.splitlines():
        instructions, smoe, gauss, combine, classes = line.split()
        assert float(smoe) <= 1e-5, (instructions, command)
        assert float(gauss) <= 1e-6, (instructions, command)
        assert float(combine) <= 1e-6, (instructions, command)
        assert float(classes) <= 1e-6, (instructions, command)
    return len(ran.stdout.splitlines())


@pytest.mark.arm
@pytest.mark.parametrize(
    ("gcc", "emulator"),
    [("aarch64-linux-gnu-gcc", "qemu-aarch64-static"), ("arm-linux-gnueabihf-gcc", "qemu-arm-static")],
)
def test_kernels_are_right_on_arm(gcc: str, emulator: str, tmp_path: Path) -> None:
    """As they are built there, under an emulator."""
    stated = re.search(r"GNU_FLAGS = (\[.*\])", (ROOT / "setup.py").read_text())
    assert stated is not None
    flags = [compiler(gcc), *ast.literal_eval(stated[1]), f"-I{NATIVE}", "-c"]
    program = tmp_path / "harness"
    subprocess.run([*flags, *KERNELS], check=True, cwd=tmp_path)
    subprocess.run([*flags, "-O1", str(HARNESS)], check=True, cwd=tmp_path)
    objects = sorted(map(str, tmp_path.glob("*.o")))
    subprocess.run([compiler(gcc), "-static", *objects, "-lm", "-o", str(program)], check=True)
    # The emulator takes a fifth of a second for a round.
    assert judged([compiler(emulator), str(program), "1", "60"], dict(os.environ)) == 2


def runtime_library(gcc: str, name: str) -> str:
    """The path of gcc's shared library; some systems have only a linker script there."""
    asked = subprocess.run([gcc, f"-print-file-name={name}"], capture_output=True, text=True)
    path = Path(asked.stdout.strip())
    if not path.is_file() or path.read_bytes()[:4] != b"\x7fELF":
        pytest.skip(f"gcc has no {name} to load here")
    return str(path)


@pytest.mark.slow
@pytest.mark.parametrize("sanitized", ["gcc"], indirect=True)
def test_operators_are_clean_under_the_sanitizers(sanitized: tuple[str, Path], tmp_path: Path) -> None:
    """The tests that run the kernels in sessions once more, with a library that the sanitizers watch."""
    (gcc, folder), library = sanitized, tmp_path / "fastcam_ops.so"
    # The sanitizers must be loaded before Python, and so must the C++ library whose exceptions they watch.
    preloaded = [runtime_library(gcc, name) for name in ("libasan.so", "libubsan.so", "libstdc++.so")]
    objects = [str(folder / f"{source.stem}.o") for source in sorted(NATIVE.glob("*.c"))]
    command = [gcc, "-fsanitize=address,undefined", "-shared", *objects, "-lm", "-o", str(library)]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    options = "detect_leaks=0:allocator_may_return_null=1"  # a tensor may be refused for want of memory
    tests = [
        f"tests/runtime/{name}.py"
        for name in ("native/test_kernels", "native/test_refusals", "draw/test_overlay")
    ]
    tests += ["-k", "not has_its_kernel and not replace and not without_the_library"]  # they check the kernel
    ran = subprocess.run(
        [sys.executable, "-c", RUN_WITH, str(library), "-vvs", "-p", "no:cacheprovider", *tests],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "LD_PRELOAD": " ".join(preloaded), "ASAN_OPTIONS": options},
    )
    assert ran.returncode == 0, f"{ran.stdout[-2000:]}\n{ran.stderr[:5000]}"


@pytest.mark.slow
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


@pytest.mark.slow
def test_with_a_compiler_one_library_is_built(tmp_path: Path) -> None:
    if not any(map(shutil.which, ("cc", *COMPILERS))):
        pytest.skip("no C compiler here")
    built = build(tmp_path)
    assert built.returncode == 0, built.stderr
    (library,) = tmp_path.glob("lib/**/fastcam_ops.*")
    assert library.parent.parts[-2:] == ("fastcam_runtime", "native")
    nm = shutil.which("nm")
    if nm is not None and sys.platform == "linux":
        listed = subprocess.run([nm, "-D", "--defined-only", str(library)], capture_output=True, text=True)
        assert {line.split()[-1] for line in listed.stdout.splitlines()} == exported()


def exported() -> set[str]:
    """The functions that the sources mark as exported."""
    texts = [path.read_text() for path in (*NATIVE.glob("*.c"), *NATIVE.glob("*.h"))]
    return {name for text in texts for name in re.findall(r"^EXPORTED [^(]*?(\w+)\(", text, re.MULTILINE)}
