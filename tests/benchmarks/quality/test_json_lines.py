"""Files of results that were written by runs that were killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.quality.json_lines import append_result, read_results

WHOLE = '{"map": "smoe × Grad-CAM", "at": 0.1}\n'.encode()


def test_a_file_that_does_not_exist_has_no_lines_and_is_made(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "results.jsonl"
    assert read_results(path) == []
    append_result(path, {"map": "smoe × Grad-CAM", "at": 0.1})
    assert path.read_bytes() == WHOLE


@pytest.mark.parametrize("length", range(len(WHOLE)))
def test_what_is_added_to_any_half_line_can_be_read(tmp_path: Path, length: int) -> None:
    """One of the cuts is inside a character of two bytes; after the last only the line's end is missing."""
    path = tmp_path / "results.jsonl"
    path.write_bytes(WHOLE + WHOLE[:length])
    append_result(path, {"at": 0.3})
    shares = [line["at"] for line in read_results(path)]
    assert shares == ([0.1, 0.1, 0.3] if length == len(WHOLE) - 1 else [0.1, 0.3])
