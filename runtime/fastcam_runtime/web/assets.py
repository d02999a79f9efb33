"""The JavaScript of this package: its folder, and the release of onnxruntime-web it needs."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from ..errors import FastcamError

_SITE_SUFFIXES = (".html", ".css", ".svg", ".png", ".webmanifest")
_SERVICE_WORKER = "sw.js"
_ENTRIES = ("page/page.js", "page/worker.js")
_BENCH_PAGE, _BENCH_ENTRY = "bench.html", "page/bench.js"
"""Only `fastcam bench --web` serves these."""


@cache
def asset_folder() -> Path:
    """The folder with our JavaScript: `runtime/web` in a checkout, else the package `fastcam_web`."""
    root = Path(__file__).parents[2]
    for name in ("web", "fastcam_web"):
        if (root / name / "fastcam.js").is_file():
            return root / name
    raise FastcamError(f"the page's files are not installed: no {root / 'fastcam_web'}")


def site_entries(*, bench: bool = False) -> tuple[str, ...]:
    """The modules that a site starts, as paths with slashes; they import the others.

    Args:
        bench: Include that of the page that `fastcam bench --web` opens.
    """
    return (*_ENTRIES, _BENCH_ENTRY) if bench else _ENTRIES


def site_assets(*, bench: bool = False) -> tuple[str, ...]:
    """Our other files of a site, as paths with slashes.

    Args:
        bench: Include the page that `fastcam bench --web` opens.
    """
    folder = asset_folder()
    names = sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.suffix in _SITE_SUFFIXES
    )
    return (*(name for name in names if bench or name != _BENCH_PAGE), _SERVICE_WORKER)


def ort_version() -> str:
    """The release of onnxruntime-web that the page was tested with; no other is accepted."""
    package = json.loads((asset_folder() / "package.json").read_text("utf-8"))
    return str(package["peerDependencies"]["onnxruntime-web"])


def clip_photos() -> tuple[Path, ...]:
    """The photos of the example clip, the same as those of `test://`."""
    return tuple(sorted((Path(__file__).parents[1] / "sources" / "clip").glob("*.jpg")))
