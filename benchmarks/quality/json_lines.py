"""Files of results with one line of JSON each, which a killed run may leave with half a line at its end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def read_results(path: Path) -> list[dict[str, Any]]:
    """The lines of a file; half a line is left out. A file that does not exist has none."""
    lines = []
    for text in path.read_bytes().split(b"\n") if path.exists() else ():
        try:
            lines.append(json.loads(text))
        except ValueError:  # also half of a character
            continue
    return lines


def append_result(path: Path, line: Mapping[str, Any]) -> None:
    """Add a line and write it to disk immediately. Half a line at the end stays a line of its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(line, ensure_ascii=False).encode() + b"\n"
    with path.open("a+b") as file:
        size = file.seek(0, 2)
        file.seek(max(size - 1, 0))
        if file.read(1) not in (b"", b"\n"):
            text = b"\n" + text
        file.write(text)
