"""Write the static site: our page, onnxruntime-web and one model, each file plain and compressed."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from ..contract import METADATA_KEY, Metadata
from ..errors import FastcamError, ModelError
from ..model.file import Summary, is_ort, summarize_file
from .assets import asset_folder, clip_photos, site_assets, site_entries
from .bundle import bundle, strip_comments
from .ort_web import WASM_FILES, WEBGPU_FILES

SITE = "site.json"
MODEL = "model.onnx"
_COMPRESSED = (".html", ".css", ".js", ".mjs", ".svg", ".webmanifest", ".wasm", ".onnx", ".json")
_VERSION_DIGITS = 12


@dataclass(frozen=True)
class SiteSize:
    """The bytes of a site, as they go over the network."""

    page: int
    """The page and its scripts, compressed, without model and WebAssembly."""
    wasm: int
    model: int


def check_model(path: Path) -> Summary:
    """The summary of a model that the page can run.

    Raises:
        ModelError: The page cannot run it; the message says why.
    """
    if is_ort(path):
        raise ModelError(f"{path}: the page reads labels and preprocessing from .onnx files, not from .ort")
    file = summarize_file(path)
    text = file.metadata.get(METADATA_KEY)
    if text is None:
        raise ModelError(f"{path} has no saliency maps yet; add them with: fastcam export {path}")
    if file.weights:
        raise ModelError(f"{path} keeps weights in {file.weights[0]}; the page needs them in one file")
    metadata = Metadata.of_file(path, text)
    if metadata.prepared:
        raise ModelError(f"{path} was prepared for {metadata.prepared}; export it without --prepared")
    if metadata.frame is not None:
        raise ModelError(f"{path} preprocesses frames itself; export it without --frame-input for the page")
    return file


def write_site(model: Path, folder: Path, ort: Path, *, webgpu: bool = True, bench: bool = False) -> SiteSize:
    """Write the site into `folder` atomically: a failure leaves the folder unchanged.

    Args:
        model: A grafted `.onnx` file.
        folder: It must not exist, be empty, or hold a site already.
        ort: The folder with the files of onnxruntime-web.
        webgpu: Include the larger build that can use a GPU.
        bench: Include the page that `fastcam bench --web` opens.

    Raises:
        ModelError: The page cannot run this model.
        FastcamError: The folder holds something else, or cannot be written.
    """
    check_model(model)
    _refuse_foreign(folder)
    folder = folder.resolve()
    part = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    try:
        part.mkdir(parents=True)
        size = _fill(part, model, ort, webgpu=webgpu, bench=bench)
        _swap(part, folder)
    except OSError as error:
        raise FastcamError(f"{folder}: cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return size


def _refuse_foreign(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise FastcamError(f"{folder} is a file, not a folder")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / SITE).is_file():
        raise FastcamError(f"{folder} holds other files; name an empty folder, or one that does not exist")


def _swap(part: Path, folder: Path) -> None:
    """Replace the old folder by the new one."""
    old = folder.with_name(f".{folder.name}.{os.getpid()}.old")
    if folder.is_dir():
        folder.rename(old)
    try:
        part.rename(folder)
    except OSError:
        if old.is_dir():
            old.rename(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _fill(folder: Path, model: Path, ort: Path, *, webgpu: bool, bench: bool) -> SiteSize:
    webgpu = webgpu and all((ort / file).is_file() for file in WEBGPU_FILES)
    assets, photos = site_assets(bench=bench), clip_photos()
    for asset in assets:
        _copy(asset_folder() / asset, folder / asset)
        if asset.endswith(".js"):
            _write(folder / asset, strip_comments((folder / asset).read_text("utf-8")))
    scripts = bundle(asset_folder(), site_entries(bench=bench))
    for name, script in scripts.items():
        _write(folder / name, script)
    for file in (*WASM_FILES, *(WEBGPU_FILES if webgpu else ())):
        _copy(ort / file, folder / "ort" / file)
    for photo in photos:
        _copy(photo, folder / "clip" / photo.name)
    _copy(model, folder / MODEL)
    wasm = [f"ort/{file}" for file in WASM_FILES]
    shell = [*assets, *scripts, SITE, *(file for file in wasm if file.endswith(".mjs"))]
    clip = [f"clip/{photo.name}" for photo in photos]
    binaries = [file for file in wasm if file.endswith(".wasm")]
    site = {
        "version": _digest(folder),
        "model": MODEL,
        "file": model.name,
        "shell": shell,
        "clip": clip,
        "webgpu": webgpu,
    }
    (folder / SITE).write_text(json.dumps(site, indent=1) + "\n", "utf-8")
    _compress(folder)
    return SiteSize(
        page=sum(_wire_size(folder / file) for file in shell),
        wasm=sum(_wire_size(folder / file) for file in binaries),
        model=_wire_size(folder / MODEL),
    )


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def _write(target: Path, text: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, "utf-8")


def _digest(folder: Path) -> str:
    """A digest of the files: the same for the same files, so that browsers use their cache."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(path.relative_to(folder).as_posix().encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:_VERSION_DIGITS]


def _compress(folder: Path) -> None:
    """Write a `.gz` copy of each text, wasm file and model, for the page and for servers."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix in _COMPRESSED:
            packed = path.with_name(f"{path.name}.gz")
            packed.write_bytes(gzip.compress(path.read_bytes(), compresslevel=6, mtime=0))


def _wire_size(path: Path) -> int:
    packed = path.with_name(f"{path.name}.gz")
    return (packed if packed.is_file() else path).stat().st_size
