"""What the maps cost on this machine: plain, with the combined map, with every map; paired, on one thread."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fastcam_runtime import native
from fastcam_runtime.contract import MAP
from fastcam_runtime.measure import system
from fastcam_runtime.measure.paired import (
    BenchOptions,
    Difference,
    Variant,
    measure,
    open_variant,
    statistics,
)
from fastcam_runtime.model.pruning import cut_file
from fastcam_runtime.text import format_table


def compare(
    plain: Path, grafted: Path, rounds: int, progress: Callable[[int], None] | None = None
) -> list[Variant]:
    """Run plain, with the combined map and with every map in turn; returns them with their samples.

    The variant with only the combined map is pruned from the file `grafted`. `progress` is called after each
    round with its number; rounds below 0 are the warm-up.
    """
    options = BenchOptions(threads=1, provider="cpu", rounds=rounds)
    variants = [
        open_variant("plain", plain, options),
        open_variant(f"with {MAP}", grafted, options, cut_file(grafted, [MAP])),
        open_variant("with every map", grafted, options),
    ]
    measure(variants, rounds, progress)
    return variants


def format_latency(variants: list[Variant]) -> str:
    """The table: medians, the differences to the first variant, and whether noise hides them."""
    plain = variants[0]
    rows = []
    hidden = []
    for variant in variants:
        wall, processor = statistics(variant.samples), statistics(variant.cpu_samples)
        cells = [variant.name, f"{wall['p50']:.2f}", f"{wall['p90']:.2f}", f"{processor['p50']:.2f}"]
        if variant is plain:
            cells += ["", "", ""]
        else:
            difference = Difference.between(plain.samples, variant.samples)
            low, high = difference.interval
            if difference.within_noise:
                hidden.append(variant.name)
            cells += [
                f"{difference.median:+.2f}",
                f"{difference.percent:+.1f} %",
                f"{low:+.2f} … {high:+.2f}",
            ]
        rows.append(cells)
    table = format_table(["ms per frame", "p50", "p90", "CPU p50", "difference", "", "95 % interval"], rows)
    rounds = len(plain.samples)
    noise = (
        f"noise hides the cost of the maps ({', '.join(hidden)}): the interval includes 0; "
        "try an idle machine or more --rounds\n"
        if hidden
        else ""
    )
    return (
        f"{table}\n{noise}"
        f"median of {rounds} rounds and of their differences, one thread, {native.status()}\n"
        f"{system.cpu_name()}, onnxruntime {system.versions()['onnxruntime']}"
    )
