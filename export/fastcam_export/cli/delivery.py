"""Deliver an evaluation: the files first, then what is printed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fastcam_runtime.cli.output_paths import write_json
from fastcam_runtime.sinks.atomic import prepare_folder, write_whole
from fastcam_runtime.text import one_line

from ..evaluate.report import page, table
from ..evaluate.results import Evaluation


def deliver(found: Evaluation, json_path: Path | None, html_path: Path | None) -> None:
    """Write the files, then print the table. A failure of one does not keep the others from being written.

    Printing is last: the reader of a pipe may have gone.

    Raises:
        SinkError: A file could not be written; the first such error.
        OSError: Standard output could not be written.
    """
    steps: list[Callable[[], None]] = []
    if json_path is not None:
        steps.append(lambda: write_json(json_path, found.as_dict()))
    if html_path is not None:
        steps.append(lambda: _write_page(found, html_path))
    steps.append(lambda: print(table.text(found), flush=True))
    failures: list[Exception] = []
    for step in steps:
        try:
            step()
        except Exception as error:
            failures.append(error)
    if failures:
        raise failures[0]
    if html_path is not None:
        print("\n" + one_line(f"the report with plots and pictures: {html_path}"))


def _write_page(found: Evaluation, path: Path) -> None:
    prepare_folder(path.parent, str(path))
    write_whole(path, page.html(found).encode(errors="replace"))
