"""What an export has to tell: its notes, and where each value that it could not know came from."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TextIO

from fastcam_runtime.contract import Metadata
from fastcam_runtime.model.description import value_lines
from fastcam_runtime.text import one_line


def tell_notes(notes: Iterable[str]) -> None:
    """Print notes on standard error, one line each."""
    for note in notes:
        print(f"note: {one_line(note)}", file=sys.stderr)


def tell_values(metadata: Metadata, stream: TextIO) -> None:
    """Print preprocessing, resize and labels with their provenance: a guess is never silent."""
    for line in value_lines(metadata.preprocess, metadata.resize, metadata.labels, metadata.provenance):
        print(one_line(line), file=stream)
