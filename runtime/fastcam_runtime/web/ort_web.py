"""onnxruntime-web: found on this machine, or fetched once with `npm pack`.

Its WebAssembly is too large for our wheel. A page loads it only from its own server.
"""

from __future__ import annotations

import json
import logging
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from ..errors import FastcamError
from ..installation import user_cache
from .assets import ort_version

logger = logging.getLogger(__name__)

PACKAGE = "onnxruntime-web"
WASM_FILES = ("ort.wasm.min.mjs", "ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm")
WEBGPU_FILES = (
    "ort.webgpu.min.mjs",
    "ort-wasm-simd-threaded.asyncify.mjs",
    "ort-wasm-simd-threaded.asyncify.wasm",
)

_FETCH_SECONDS = 300


def find_ort_web(given: Path | None = None) -> Path:
    """The folder with the files of onnxruntime-web.

    It is searched in `given`, in the `node_modules` of this folder and those above, and in our cache; else
    `npm pack` fetches it into the cache.

    Args:
        given: The package's folder, or its `dist`; no other folder is searched then.

    Raises:
        FastcamError: There is none, or not this release; the message says how to get it.
    """
    version = ort_version()
    if given is not None:
        return _check(given, version)
    here = Path.cwd()
    for folder in (here, *here.parents):
        package = folder / "node_modules" / PACKAGE
        if package.is_dir() and _version(package) == version:
            return _check(package, version)
    cached = user_cache("web") / f"{PACKAGE}-{version}"
    if not cached.is_dir():
        _fetch(version, cached)
    return _check(cached, version)


def _check(folder: Path, version: str) -> Path:
    """The folder with the files, after checking the release if the folder states it."""
    dist = folder / "dist" if (folder / "dist").is_dir() else folder
    missing = [name for name in WASM_FILES if not (dist / name).is_file()]
    if missing:
        raise FastcamError(f"{folder} is not {PACKAGE}: no {missing[0]} in it; {_how(version)}")
    for place in (dist, dist.parent):
        found = _version(place)
        if found and found != version:
            raise FastcamError(f"{folder} is {PACKAGE} {found}, the page needs {version}; {_how(version)}")
    return dist


def _version(package: Path) -> str:
    """The release in a package's folder; empty if it is not a folder of this package."""
    try:
        content = json.loads((package / "package.json").read_text("utf-8"))
    except (OSError, ValueError):
        return ""
    return str(content.get("version", "")) if content.get("name") == PACKAGE else ""


def _fetch(version: str, target: Path) -> None:
    """Fetch the package with npm, and keep the files that a site needs."""
    npm = shutil.which("npm")
    if npm is None:
        raise FastcamError(f"no {PACKAGE} found, and no npm to fetch it; {_how(version)}")
    logger.info("fetching %s %s with npm, once", PACKAGE, version)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as name:
        folder = Path(name)
        command = [npm, "pack", f"{PACKAGE}@{version}", "--silent", "--pack-destination", str(folder)]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_FETCH_SECONDS)
        except subprocess.TimeoutExpired:
            raise FastcamError(
                f"npm did not fetch {PACKAGE} within {_FETCH_SECONDS} s; {_how(version)}"
            ) from None
        archives = list(folder.glob("*.tgz"))
        if done.returncode != 0 or not archives:
            said = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise FastcamError(f"npm could not fetch {PACKAGE}: {said}; {_how(version)}")
        unpacked = folder / "unpacked"
        unpacked.mkdir()
        _unpack(archives[0], unpacked)
        if not target.is_dir():  # race: another process may have been faster
            unpacked.rename(target)


def _unpack(archive: Path, target: Path) -> None:
    wanted = {f"package/dist/{name}" for name in (*WASM_FILES, *WEBGPU_FILES)} | {"package/package.json"}
    with tarfile.open(archive) as package:
        for member in package:
            if member.name in wanted and member.isfile():
                content = package.extractfile(member)
                if content is not None:
                    (target / Path(member.name).name).write_bytes(content.read())


def _how(version: str) -> str:
    return f"get it with: npm pack {PACKAGE}@{version}, unpack it, and give its folder with --ort"
