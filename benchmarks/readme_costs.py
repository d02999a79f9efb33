"""The README's section on cost, written from the committed reference figures.

    python -m benchmarks.readme_costs [--accept]

`--accept` first makes the last results of `make bench` the reference.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fastcam_runtime.errors import FastcamError

from .networks import NETWORKS, RESULTS
from .targets import second_core_was_free

REFERENCE = Path(__file__).with_name("reference")
README = Path(__file__).parents[1] / "README.md"
BEGIN, END = "<!-- costs: begin -->", "<!-- costs: end -->"
WIDTH = 120
PEER_PACKAGES = ("torch", "grad-cam", "torchcam", "captum", "openvino")
FORMS = {"standard": "standard", "native": "compiled", "prepared": "prepared"}
"""The forms of the tables, and what they are called there."""
PARTS = ("overhead", "peers", "graft", "gradcam_agreement")

Result = Mapping[str, Any]


def section(folder: Path) -> str:
    """The text between the two markers, from the JSON files in `folder`."""
    overhead, peers, graft, agreement = (json.loads((folder / f"{part}.json").read_text()) for part in PARTS)
    parts = [
        _setup(overhead["config"]),
        _cost_table(overhead),
        _threads_table(overhead),
        _growth_table(overhead),
        "Beside the time of a frame, against the plain file:",
        _footprint_table(overhead),
        _grafting(graft),
        _agreement(agreement),
        _peers_intro(peers),
        _peer_table(peers["networks"]),
    ]
    return "\n\n".join(part for part in parts if part)


def _setup(config: Result) -> str:
    clock = "time" if config["clock"] == "wall" else "processor time"
    return _paragraph(
        f"What `saliency_map` adds to a frame, in percent of the plain file's {clock}: {config['cpu']}, "
        f"onnxruntime {config['versions']['onnxruntime']}, one thread, batch 1, 224². "
        f"Each figure is the median of {config['rounds']} differences between runs in the same round. "
        "*Standard*: operators that every ONNX runtime has. *Compiled*: the same file where installing found "
        "a C compiler. *Prepared*: a file made by `--prepared`, for this device alone. *Naive*: the formulas "
        "grafted as they are printed. *Class maps on top*: what `cam`, `fastcam` and `nonclass` add to the "
        "compiled form. Below zero is noise: maps cost something. `make bench` measures your "
        "machine."
    )


def _cost_table(overhead: Result) -> str:
    rows = []
    for run in overhead["overhead"]:
        if run["threads"] != 1:
            continue
        on_top = {"forms": run["classes_on_top"]}
        rows.append([
            NETWORKS[run["network"]].title,
            f"{run['plain']['median_ms']:.1f} ms",
            *(_percent(run, form) for form in ("naive", *FORMS)),
            _percent(on_top, "native") or _percent(on_top, "standard"),
        ])  # fmt: skip
    head = ["network", "plain", "naive", *FORMS.values(), "class maps on top"]
    return markdown_table(head, rows)


def _threads_table(overhead: Result) -> str:
    """The same on two threads, of the networks for which the machine had a second core to give."""
    alone = {run["network"]: run for run in overhead["overhead"] if run["threads"] == 1}
    rows = [
        [
            NETWORKS[run["network"]].title,
            f"{run['plain']['median_ms']:.1f} ms",
            *(_percent(run, form) for form in FORMS),
        ]
        for run in overhead["overhead"]
        if run["threads"] == 2 and second_core_was_free(alone[run["network"]], run)
    ]
    return markdown_table(["on two threads", "plain", *FORMS.values()], rows) if rows else ""


def _footprint_table(overhead: Result) -> str:
    rows = [
        [
            NETWORKS[network].title,
            f"{one['file_bytes'] / 1e6:.1f} MB",
            f"+{one['forms']['standard']['file_growth_bytes'] / 1e3:.0f} kB",
            f"{one['load']['median_ms']:.0f} ms",
            *(_load(one, form) for form in FORMS),
            *(_memory(one, form) for form in FORMS),
        ]
        for network, one in overhead["footprint"].items()
    ]
    standard, *others = FORMS.values()
    memory = [f"peak memory, {standard}", *others]
    return markdown_table(["network", "file", "grows by", "loads in", standard, *others, *memory], rows)


def _grafting(graft: Result) -> str:
    (one,) = (one for one in graft["grafts"] if one["network"] == "resnet50")
    return _paragraph(
        f"`fastcam export` of ResNet-50 ({one['file_bytes'] / 1e6:.0f} MB), its check included, takes "
        f"{one['command_seconds']:.1f} s and {one['peak_of_file']:.1f} times the file's size in memory."
    )


def _agreement(agreement: Result) -> str:
    rows = agreement["agreement"]
    networks, pictures = len({row["network"] for row in rows}), len(agreement["config"]["pictures"])
    worst = max(row["difference"] for row in rows)
    return _paragraph(
        "Grad-CAM and Grad-CAM++ out of the forward pass differ from those of the package `grad-cam`, which "
        f"need a backward pass, by {worst:.0e} of their range at most: {networks} networks, {pictures} "
        "pictures, two classes each."
    )


def _growth_table(overhead: Result) -> str:
    sizes = sorted({run["size"] for run in overhead["growth"]})
    runs = {(run["network"], run["size"]): run for run in overhead["growth"]}
    rows = [
        [
            f"{NETWORKS[network].title}, {title}",
            *(_percent(runs[network, size], form) if (network, size) in runs else "" for size in sizes),
        ]
        for network in dict.fromkeys(name for name, _ in runs)
        for form, title in FORMS.items()
    ]
    return markdown_table(["by input size", *(f"{size}²" for size in sizes)], rows)


def _peers_intro(peers: Result) -> str:
    versions = peers["config"]["versions"]
    packages = ", ".join(f"{name} {versions[name]}" for name in PEER_PACKAGES if name in versions)
    return _paragraph(
        f"Others in one run on one thread, medians of {peers['config']['rounds']} rounds in which everybody "
        f"had a turn ({packages}). A frame counts as explained when its class and its map are known. "
        "*To ours* is the median of the ratios within the rounds, which on a machine with other guests is "
        "not the ratio of the medians. "
        "*Detail* is what the map is computed from: all scales, the last feature map, or the input's pixels."
    )


def _peer_table(networks: Sequence[Result]) -> str:
    """One row for each method, two columns for each network."""
    timed = [{(row["package"], row["method"]): row for row in one["methods"]} for one in networks]
    every: dict[tuple[str, str], Result] = {}
    for one in timed:
        for key, row in one.items():
            every.setdefault(key, row)
    rows = []
    for key, row in every.items():
        cells = [cell for one in timed for cell in (_timing(one[key]) if key in one else ("", ""))]
        rows.append([f"{row['package']}: {row['method']}", *cells, row["computed_at"], row["returned"]])
    if networks[0]["openvino_missing"]:
        rows.append([f"openvino_xai: {networks[0]['openvino_missing']}", *[""] * (2 * len(networks) + 2)])
    titles = [title for one in networks for title in (NETWORKS[one["network"]].title, "to ours")]
    return markdown_table(["per frame", *titles, "detail", "map"], rows)


def _timing(row: Result) -> tuple[str, str]:
    ms, ratio = row["median_ms"], row["ratio_to_ours"]
    time = f"{ms:.1f} ms" if ms < 1000 else f"{ms / 1000:.1f} s"
    return time, f"{ratio:.2f}×" if ratio < 10 else f"{ratio:.0f}×"


def _percent(run: Result, form: str) -> str:
    cost = run["forms"].get(form)
    return "" if cost is None else _signed(cost["percent"], 1, "%")


def _load(one: Result, form: str) -> str:
    extra = one["forms"].get(form)
    return "" if extra is None else _signed(extra["load"]["percent"], 0, "%")


def _memory(one: Result, form: str) -> str:
    extra = one["forms"].get(form)
    return "" if extra is None else _signed(extra["extra_peak_bytes"] / 1e6, 0, "MB")


def _signed(value: float, digits: int, unit: str) -> str:
    """With its sign, a minus of its own, and none for what is rounded to 0."""
    rounded = round(value, digits)
    text = f"{rounded:+.{digits}f}" if rounded else f"{0:.{digits}f}"
    return f"{text.replace('-', '−')} {unit}"


def _paragraph(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table with the first column to the left and the others to the right."""
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def with_section(readme: str, text: str) -> str:
    """`readme` with `text` between the markers.

    Raises:
        FastcamError: The markers are not there, once each and in order.
    """
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in rest or END in after:
        raise FastcamError(f"README.md needs the lines {BEGIN} and {END}, once and in this order")
    return f"{before}{BEGIN}\n{text}\n{END}{after}"


def accept(results: Path, reference: Path) -> None:
    """Make the files in `results` the reference.

    Raises:
        FastcamError: A part was not measured, or not to its end.
    """
    missing = [part for part in PARTS if not (results / f"{part}.json").exists()]
    if missing:
        raise FastcamError(f"not measured yet: {', '.join(missing)}; run make bench first")
    if not json.loads((results / "overhead.json").read_text())["complete"]:
        raise FastcamError("the overhead was not measured to the end; run make bench again")
    reference.mkdir(exist_ok=True)
    for part in PARTS:
        shutil.copyfile(results / f"{part}.json", reference / f"{part}.json")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.readme_costs", description=__doc__.partition("\n")[0])
    parser.add_argument("--accept", action="store_true", help="the last results become the reference")
    options = parser.parse_args(arguments)
    try:
        if options.accept:
            accept(RESULTS, REFERENCE)
        text = with_section(README.read_text(encoding="utf-8"), section(REFERENCE))
    except FastcamError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    draft = README.with_suffix(".partial")
    draft.write_text(text, encoding="utf-8")
    os.replace(draft, README)
    return 0


if __name__ == "__main__":
    sys.exit(main())
