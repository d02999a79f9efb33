"""`fastcam cache`: list the cached prepared files, or remove them."""

from __future__ import annotations

import argparse
from datetime import datetime
from pathlib import Path
from typing import Any

from ..prepared.store import LIMIT, Store
from ..text import count, left_table, printable

_DESCRIPTION = f"""\
At the first start of a grafted file, 'run' and 'bench' prepare it for this device and cache the result: its
maps cost less, and the next start takes less time. It is compared with the ordinary file before it is used.

The files are in $XDG_CACHE_HOME/fastcam/prepared, else in ~/.cache/fastcam/prepared. They have
{LIMIT >> 20} MB at most; the least recently used are deleted first. A file is made again if the model, the
processor, or the release of onnxruntime or fastcam-edge changes.
"""


def add_parser(commands: Any) -> None:
    """Add the sub-command to the parsers of `fastcam`."""
    parser = commands.add_parser(
        "cache",
        help="the files prepared for this device: list them, or remove them",
        description=_DESCRIPTION,
    )
    parser.set_defaults(handler=run)
    parser.add_argument("action", choices=("list", "clear"), help="list the files, or remove them all")


def run(args: argparse.Namespace) -> int:
    """List the entries, or remove them."""
    store = Store()
    entries = store.entries()
    size = sum(entry.bytes for _, entry, _ in entries)
    what = f"{count(len(entries), 'file')}, {size / 1e6:.1f} MB"
    if args.action == "clear":
        store.clear()
        print(f"removed {what} from {store.folder}")
        return 0
    rows = [("file", "maps", "form", "MB", "last used")]
    for _, entry, used in entries:
        when = datetime.fromtimestamp(used).isoformat(" ", "minutes")
        megabytes = f"{entry.bytes / 1e6:.1f}" if entry.bytes else "–"
        rows.append((_shown(entry.source), entry.outputs, printable(entry.form), megabytes, when))
    if entries:
        print(left_table(rows))
    print(f"{store.folder}: {what} of at most {LIMIT >> 20} MB")
    return 0


def _shown(source: str) -> str:
    path = Path(source)
    return printable(source if path.exists() else f"{path.name} (gone)", 200)
