"""`fastcam export`: write the same network with saliency maps."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from fastcam_runtime.contract import MAP, TapInfo
from fastcam_runtime.text import count

from ..api import export
from .arguments import default_target, graft_options
from .telling import tell_notes, tell_values


def run(args: argparse.Namespace) -> None:
    """Export, and print what was written."""
    out = default_target(args.model) if args.out is None else args.out
    exported = export(args.model, out, **graft_options(args))
    tell_notes(exported.notes)
    tell_values(exported.metadata, sys.stdout)
    scales = _sizes(exported.metadata.taps)
    prepared = f", prepared for {exported.metadata.prepared}" if args.prepared else ""
    outputs = [*exported.metadata.outputs, *([f"{MAP}_{args.map_output}"] if args.map_output else ())]
    print(f"{exported}: {scales}, outputs {', '.join(outputs)}{prepared}")


def _sizes(taps: Sequence[TapInfo]) -> str:
    """`2 scales (16×16, 8×8)`, or `2 scales of free size`."""
    sizes = [tap.shape[2:] for tap in taps]
    if not any(side for size in sizes for side in size):
        return f"{count(len(taps), 'scale')} of free size"
    listed = ", ".join("×".join(str(side or "free") for side in size) for size in sizes)
    return f"{count(len(taps), 'scale')} ({listed})"
