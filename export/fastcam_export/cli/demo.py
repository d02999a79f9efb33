"""The options of `fastcam demo`."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys

from fastcam_runtime.cli.arguments import refuse_below_one

from ..demo.detector import MODEL as DETECTOR
from ..demo.detector import show_detector
from ..demo.options import DemoOptions
from ..demo.show import MODEL, show
from .progress import Progress


def run(args: argparse.Namespace) -> None:
    """Run the demo and print its report."""
    refuse_below_one(args, "frames")
    options = DemoOptions(args.out, args.frames, args.size, args.threads, args.rounds)
    demo, file = (show_detector, DETECTOR) if args.detector else (show, MODEL)
    with Progress(sys.stderr) as progress:
        text = demo(options, progress)
    model = shlex.quote(str(options.out / file))
    print(f"\n{text}\n\nyour own camera, as a page: {_program()} run {model} 0 http://:8000")


def _program() -> str:
    """The command that starts this program: its name if the shell finds it, else its path."""
    return "fastcam" if shutil.which("fastcam") else shlex.quote(os.path.relpath(sys.argv[0]))
