"""The files of the page itself, and the policy that keeps a browser to them."""

from __future__ import annotations

from importlib import resources
from typing import NamedTuple

POLICY = (
    "default-src 'none'; img-src 'self' data:; connect-src 'self'; script-src 'self'; style-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Only scripts, styles and pictures of this server; no script or style inside the page's text."""


class Asset(NamedTuple):
    """A file of the page."""

    content: bytes
    content_type: str


def load_assets() -> dict[str, Asset]:
    """The files by the path that they are served at."""
    folder = resources.files(__package__)
    return {
        path: Asset(folder.joinpath(name).read_bytes(), f"{kind}; charset=utf-8")
        for path, name, kind in (
            ("/", "page.html", "text/html"),
            ("/page.css", "page.css", "text/css"),
            ("/page.js", "page.js", "text/javascript"),
            ("/class_box.js", "class_box.js", "text/javascript"),
        )
    }
