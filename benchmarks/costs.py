"""Writes the cost figures into docs/costs.md and README.md, from the committed reference.

    python -m benchmarks.costs [--accept]

`--accept` first makes the last results of `make bench` the reference.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from fastcam_runtime.errors import FastcamError

from .inputs.networks import NETWORKS
from .paths import REFERENCE, RESULTS, ROOT
from .tables.cost_tables import (
    FORM_TITLES,
    PARTS,
    cost_row,
    missed_targets,
    read_results,
    tables,
    timing,
)
from .tables.device_tables import ResultJson, int8_row
from .tables.markdown import markdown_table, paragraph
from .tables.targets import Outcome, missed_aims, outcomes

README = ROOT / "README.md"
COSTS = ROOT / "docs" / "costs.md"
BEGIN, END = "<!-- costs: begin -->", "<!-- costs: end -->"
OPTIONAL = ("instructions", "browsers", "openvino")
"""Without an emulator, a browser or OpenVINO their reference is not changed."""
SUMMARY = (
    "resnet18",
    "resnet50",
    "mobilenet_v2",
    "mobilenet_v3_small",
    "squeezenet1_1",
    "efficientnet_lite0",
)
"""The networks of the README's table."""
SUMMARY_PEERS = (
    ("grad-cam", "Grad-CAM++"),
    ("captum", "Saliency"),
    ("openvino_xai", "ReciproCAM"),
    ("openvino_xai", "ActivationMap"),
)
"""The other packages that the README names."""


def summary(folder: Path) -> str:
    """The README's figures, from the JSON files in `folder`."""
    overhead, peers, _, _, int8, *_ = read_results(folder)
    runs = {run["network"]: run for run in overhead["overhead"] if run["threads"] == 1}
    rows = [cost_row(runs[network], FORM_TITLES) for network in SUMMARY]
    rows += [int8_row(run) for run in int8["int8"]]
    return "\n\n".join([
        markdown_table(["network", "plain", *FORM_TITLES.values()], rows),
        _peers_sentence(peers["networks"]),
        _missed_list(outcomes(overhead), missed_aims(overhead, int8)),
    ])  # fmt: skip


def _peers_sentence(networks: Sequence[ResultJson]) -> str:
    timed = [{(row["package"], row["method"]): row for row in one["methods"]} for one in networks]
    titles = " and ".join(NETWORKS[one["network"]].title for one in networks)
    ratios = [
        f"{package}'s {method} takes {' and '.join(timing(one[package, method])[1] for one in timed)}"
        for package, method in SUMMARY_PEERS
        if all((package, method) in one for one in timed)
    ]
    return paragraph(
        f"Against our compiled form on {titles}, {', '.join(ratios)} the time per explained frame."
    )


def _missed_list(found: Sequence[Outcome], aims: Mapping[str, Sequence[str]]) -> str:
    """One line for each kind of promise that is broken; without any, the aims that are missed."""
    missed = sorted(missed_targets(found), key=itemgetter(0))
    if not missed:
        each = "; ".join(
            f"by *{FORM_TITLES[form]}* on {', '.join(networks)}" for form, networks in aims.items()
        )
        kept = f"All {len(found)} promises of `benchmarks/tables/targets.py` are kept."
        return paragraph(f"{kept} Stricter aims are missed {each}." if each else kept)
    head = f"**{len(missed)} of {len(found)} promises are broken** (measured, and the limit in brackets):\n"
    lines = [
        f"- {what}: {', '.join(_figures(subject, outcome) for _, subject, outcome in group)}."
        for what, group in groupby(missed, key=itemgetter(0))
    ]
    return "\n".join([head, *(paragraph(line, indent="  ") for line in lines)])


def _figures(subject: str, outcome: Outcome) -> str:
    return f"{subject.replace(',', '')} {outcome.measured:.3g} {outcome.unit} ({outcome.limit:.3g})"


def with_section(page: str, text: str) -> str:
    """`page` with `text` between the markers.

    Raises:
        FastcamError: The markers are not there once each and in order.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in rest or END in after:
        raise FastcamError(f"the page needs the lines {BEGIN} and {END}, once and in this order")
    return f"{before}{BEGIN}\n{text}\n{END}{after}"


PAGES: Mapping[Path, Callable[[Path], str]] = {README: summary, COSTS: tables}
"""The pages with figures, and what writes them."""


def rewritten(page: Path, reference: Path) -> str:
    """The whole text of `page` with the figures of `reference`."""
    try:
        return with_section(page.read_text(encoding="utf-8"), PAGES[page](reference))
    except FastcamError as error:
        raise FastcamError(f"{page.name}: {error}") from error


def accept(results: Path, reference: Path) -> None:
    """Make the files in `results` the reference.

    Raises:
        FastcamError: A part was not measured, or not completely.
    """
    measured = [part for part in PARTS if (results / f"{part}.json").exists()]
    missing = [part for part in PARTS if part not in (*measured, *OPTIONAL)]
    if missing:
        raise FastcamError(f"not measured yet: {', '.join(missing)}; run make bench first")
    if not json.loads((results / "overhead.json").read_text())["complete"]:
        raise FastcamError("the overhead was not measured completely; run make bench again")
    reference.mkdir(exist_ok=True)
    for part in measured:
        shutil.copyfile(results / f"{part}.json", reference / f"{part}.json")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.costs", description=__doc__.partition("\n")[0])
    parser.add_argument("--accept", action="store_true", help="make the last results the reference first")
    options = parser.parse_args(arguments)
    try:
        if options.accept:
            accept(RESULTS, REFERENCE)
        texts = {page: rewritten(page, REFERENCE) for page in PAGES}
    except FastcamError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for page, text in texts.items():
        draft = page.with_suffix(".partial")
        draft.write_text(text, encoding="utf-8")
        os.replace(draft, page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
