"""Deliver an evaluation: the files first, then what is printed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from fastcam_runtime.cli.output_paths import write_json
from fastcam_runtime.errors import FastcamError
from fastcam_runtime.sinks.atomic import check_folder, prepare_folder, write_whole
from fastcam_runtime.sinks.json_lines import STDOUT
from fastcam_runtime.text import one_line

from ..evaluate.report import page, table
from ..evaluate.results import Evaluation

_PAGES = (".html", ".htm")


def check_targets(json_path: Path | None, html_path: Path | None) -> None:
    """Refuse targets that cannot be written, before the measurement.

    Raises:
        FastcamError: A target has another suffix, is a folder, or its folder cannot be written to.
    """
    if json_path is not None and not is_stdout(json_path):
        _check(json_path, (".json",), "the figures (--json)", f", or {STDOUT} for standard output")
    if html_path is not None:
        _check(html_path, _PAGES, "the report (--html)")


def _check(path: Path, suffixes: tuple[str, ...], what: str, otherwise: str = "") -> None:
    check_folder(path.parent, str(path))
    if path.suffix.lower() not in suffixes or path.is_dir():
        raise FastcamError(f"{path}: name a {suffixes[0]} file for {what}{otherwise}")


def is_stdout(json_path: Path | None) -> bool:
    """Whether the JSON goes to standard output; everything else then goes to standard error."""
    return json_path is not None and str(json_path) == STDOUT


def deliver(found: Evaluation, json_path: Path | None, html_path: Path | None) -> None:
    """Write the files, then print the table. A failure of one does not keep the others from being written.

    Printing is last: the reader of a pipe may have gone.

    Raises:
        SinkError: A file could not be written; the first such error.
        OSError: Standard output could not be written.
    """
    steps: list[Callable[[], None]] = []
    if html_path is not None:
        steps.append(lambda: _write_page(found, html_path))
    if is_stdout(json_path):
        steps += [lambda: _print_table(found, html_path, sys.stderr), lambda: _print_json(found)]
    else:
        if json_path is not None:
            steps.insert(0, lambda: write_json(json_path, found.as_dict()))
        steps.append(lambda: _print_table(found, html_path, sys.stdout))
    failures: list[Exception] = []
    for step in steps:
        try:
            step()
        except Exception as error:
            failures.append(error)
    if failures:
        raise failures[0]


def _write_page(found: Evaluation, path: Path) -> None:
    prepare_folder(path.parent, str(path))
    write_whole(path, page.html(found).encode(errors="replace"))


def _print_json(found: Evaluation) -> None:
    text = json.dumps(found.as_dict(), indent=2, ensure_ascii=False)
    print(text.encode(errors="replace").decode(), flush=True)  # a file's name may not be UTF-8


def _print_table(found: Evaluation, html_path: Path | None, stream: TextIO | None) -> None:
    if stream is None:  # closed; print would take standard output
        return
    print(table.text(found), file=stream)
    if html_path is not None and html_path.exists():
        print("\n" + one_line(f"the report with plots and pictures: {html_path}"), file=stream)
    stream.flush()
