"""The end of `fastcam run`: the JSON file of figures, and a line or a table for the terminal."""

from __future__ import annotations

import argparse
import sys

from ..draw.caption import answer
from ..live.report import RunReport
from ..sinks.json_lines import STDOUT
from ..sources.capture import without_password
from ..text import printable
from .output_paths import write_json


def tell_run(args: argparse.Namespace, report: RunReport, *, whole: bool) -> None:
    """Write the figures if a file was named, and print them; `whole` if the run ended without an error."""
    # The file comes first: printing fails if the reader of the terminal output has gone.
    if args.json is not None:
        write_json(args.json, report.as_dict())
    last = report.last
    # Standard output may be for lines of JSON only.
    out = sys.stderr if args.jsonl == STDOUT else sys.stdout
    if report.metrics.frames == 1 and last is not None:
        if not whole:  # no picture was finished
            return
        where = ", ".join(uri for uri in args.outputs if "://" not in uri) or without_password(args.input)
        network = last.latency["preprocess"] + last.latency["inference"]
        told = [answer(printable(last.label), last.score), f"{network:.0f} ms (first run)"]
        print(f"{where}: {', '.join(filter(None, told))}", file=out, flush=True)
    elif report.metrics.frames:
        print(report.text(), file=out, flush=True)
