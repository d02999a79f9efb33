"""`make wheels`: one wheel for each kind of machine, with kernels that run there, for every Python."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from support.paths import ROOT

MACHINES = ("x86_64", "aarch64")


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the wheels; building fails if a library needs a newer system."""
    for machine in MACHINES:
        if shutil.which(f"{machine}-linux-gnu-gcc") is None:
            pytest.skip(f"no {machine}-linux-gnu-gcc here")
    folder = tmp_path_factory.mktemp("dist")
    environment = {**os.environ, "PYTHON": sys.executable}
    made = subprocess.run([ROOT / ".ci/wheels", folder], capture_output=True, text=True, env=environment)
    assert made.returncode == 0, made.stderr
    return folder


@pytest.mark.slow
def test_names_tell_machine_and_no_python_version(dist: Path) -> None:
    endings = {path.name.partition("-py3-")[2] for path in dist.glob("*.whl")}
    assert endings == {f"none-manylinux2014_{machine}.whl" for machine in MACHINES}
    assert len(list(dist.glob("*.tar.gz"))) == 1


@pytest.mark.slow
def test_library_is_for_the_machine(dist: Path) -> None:
    numbers = {"x86_64": 62, "aarch64": 183}  # e_machine of the ELF specification
    for machine, number in numbers.items():
        (wheel,) = dist.glob(f"*_{machine}.whl")
        library = zipfile.ZipFile(wheel).read("fastcam_runtime/native/fastcam_ops.so")
        assert library[:4] == b"\x7fELF"
        assert int.from_bytes(library[18:20], "little") == number


@pytest.mark.slow
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the wheel is for x86_64")
def test_installed_wheel_has_kernels(dist: Path, tmp_path: Path) -> None:
    (wheel,) = dist.glob("*_x86_64.whl")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", str(tmp_path)]
    subprocess.run([*pip, str(wheel)], check=True)
    told = subprocess.run(
        [sys.executable, "-m", "fastcam_runtime", "--version"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
    )
    assert told.stdout.splitlines()[1] == "compiled kernels (fastcam_ops.so)", told.stderr


@pytest.mark.slow
def test_wheel_without_kernels_is_for_every_machine(tmp_path: Path) -> None:
    build = ["setup.py", "-q", "build", "--build-base", str(tmp_path / "build"), "bdist_wheel"]
    made = subprocess.run(
        [sys.executable, *build, "--dist-dir", str(tmp_path)],
        capture_output=True,
        text=True,
        env={**os.environ, "CC": "/bin/false"},
        cwd=ROOT,
    )
    assert made.returncode == 0, made.stderr
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    assert "no compiled kernels" in made.stderr + made.stdout
