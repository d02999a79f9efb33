"""One picture of the results: cost per network, cost by input size, and other packages' times.

python -m benchmarks.plot [--results FOLDER]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .inputs.networks import NETWORKS
from .paths import RESULTS

COLOURS = {"naive": "#b0b0b0", "standard": "#4477aa", "native": "#228833", "prepared": "#aa3377"}
LABELS = {
    "naive": "naive graft", "standard": "standard operators", "native": "compiled kernels",
    "prepared": "compiled kernels, prepared file",
}  # fmt: skip


def plot(folder: Path) -> Path:
    """Draw what `folder` holds of `overhead.json` and `peers.json` to `bench.png` there."""
    import matplotlib

    matplotlib.use("Agg")  # a file, no window
    from matplotlib import pyplot

    overhead = json.loads((folder / "overhead.json").read_text())
    peers_file = folder / "peers.json"
    networks = json.loads(peers_file.read_text())["networks"] if peers_file.exists() else []
    rows = 1 + (len(networks) + 1) // 2
    figure, axes = pyplot.subplots(rows, 2, figsize=(15, 6 * rows), squeeze=False)
    _draw_costs(axes[0, 0], [run for run in overhead["overhead"] if run["threads"] == 1])
    _draw_growth(axes[0, 1], overhead["growth"])
    for axis, network in zip(axes[1:].flat, networks, strict=False):
        _draw_peers(axis, network)
    figure.tight_layout()
    target = folder / "bench.png"
    figure.savefig(target, dpi=100)
    return target


def _draw_costs(axis: Any, runs: Sequence[Mapping[str, Any]]) -> None:
    """Bars with their 95 % intervals."""
    for place, form in enumerate(COLOURS):
        costs = [(i, run["forms"][form]) for i, run in enumerate(runs) if form in run["forms"]]
        values = [cost["percent"] for _, cost in costs]
        spread = [
            [max(0.0, cost["percent"] - cost["interval_percent"][0]) for _, cost in costs],
            [max(0.0, cost["interval_percent"][1] - cost["percent"]) for _, cost in costs],
        ]
        spots = [i + 0.21 * (place - 1.5) for i, _ in costs]
        axis.bar(spots, values, 0.2, yerr=spread, color=COLOURS[form], label=LABELS[form])
    axis.set_xticks(
        range(len(runs)), [NETWORKS[run["network"]].title for run in runs], rotation=40, ha="right"
    )
    axis.set_yscale("symlog", linthresh=10)
    axis.set(ylabel="% of the plain forward pass", title="Cost of the map, 224², one thread")
    axis.legend()


def _draw_growth(axis: Any, runs: Sequence[Mapping[str, Any]]) -> None:
    """A line for each network and form."""
    for name, style in zip(dict.fromkeys(run["network"] for run in runs), ("-", "--", ":"), strict=False):
        own = [run for run in runs if run["network"] == name]
        for form, colour in COLOURS.items():
            points = [(run["size"], run["forms"][form]["percent"]) for run in own if form in run["forms"]]
            if points:
                label = f"{NETWORKS[name].title}, {LABELS[form]}"
                axis.plot(*zip(*points, strict=True), style, marker="o", color=colour, label=label)
    axis.set(
        xlabel="input size", ylabel="% of the plain forward pass", title="Cost by input size, one thread"
    )
    axis.set_yscale("symlog", linthresh=10)
    axis.set_ylim(bottom=0)
    axis.legend(fontsize="small", ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.12))


def _draw_peers(axis: Any, network: Mapping[str, Any]) -> None:
    methods = network["methods"][::-1]
    names = [f"{row['package']}: {row['method']}" for row in methods]
    colours = [_peer_colour(row) for row in methods]
    bars = axis.barh(names, [row["median_ms"] for row in methods], color=colours)
    axis.bar_label(bars, fmt="%.3g", padding=3)
    axis.set_xscale("log")
    axis.margins(x=0.1)
    axis.set(xlabel="ms per frame, one thread", title=f"{NETWORKS[network['network']].title}: with others")


def _peer_colour(row: Mapping[str, Any]) -> str:
    if row["package"] == "fastcam":
        return COLOURS["native"]
    return "#ccbb44" if row["computed_at"] else COLOURS["naive"]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.plot", description=__doc__.partition("\n")[0])
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FOLDER")
    folder = parser.parse_args(arguments).results
    if importlib.util.find_spec("matplotlib") is None:
        print("no plot: the package matplotlib is not installed")
    elif not (folder / "overhead.json").exists():
        print(f"no plot: {folder} has no overhead.json")
    else:
        print(f"saved {plot(folder)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
