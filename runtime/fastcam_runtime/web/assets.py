"""The JavaScript of this package: its folder, and the release of onnxruntime-web it needs."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from ..errors import FastcamError

_SITE_SUFFIXES = (".html", ".css", ".js", ".svg", ".png", ".webmanifest")
_NOT_IN_SITES = ("bench.html", "page/bench.js")
"""Only `fastcam bench --web` serves these."""


@cache
def asset_folder() -> Path:
    """The folder with our JavaScript: `runtime/web` in a checkout, else the package `fastcam_web`."""
    root = Path(__file__).parents[2]
    for name in ("web", "fastcam_web"):
        if (root / name / "fastcam.js").is_file():
            return root / name
    raise FastcamError(f"the page's files are not installed: no {root / 'fastcam_web'}")


def site_assets(*, bench: bool = False) -> tuple[str, ...]:
    """Our files of a site, as paths with slashes.

    Args:
        bench: Include the page that `fastcam bench --web` opens.
    """
    folder = asset_folder()
    names = sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.suffix in _SITE_SUFFIXES
    )
    return tuple(name for name in names if bench or name not in _NOT_IN_SITES)


def ort_version() -> str:
    """The release of onnxruntime-web that the page was tested with; no other is accepted."""
    package = json.loads((asset_folder() / "package.json").read_text("utf-8"))
    return str(package["peerDependencies"]["onnxruntime-web"])


def clip_photos() -> tuple[Path, ...]:
    """The photos of the example clip, the same as those of `test://`."""
    return tuple(sorted((Path(__file__).parents[1] / "sources" / "clip").glob("*.jpg")))
