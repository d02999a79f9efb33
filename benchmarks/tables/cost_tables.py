"""All measured figures as Markdown tables: the content of docs/costs.md."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..inputs.networks import NETWORKS
from .device_tables import ResultJson, browser_table, instruction_table, int8_table, openvino_table
from .markdown import markdown_table, paragraph
from .option_table import option_table
from .targets import AIMS, MAP_LIMITS, Outcome, outcomes, second_core_was_free

PEER_PACKAGES = ("torch", "grad-cam", "torchcam", "captum", "openvino")
FORM_TITLES = {"standard": "standard", "native": "compiled", "prepared": "prepared"}
"""The forms of the tables, and their names there."""
PARTS = (
    "overhead",
    "peers",
    "graft",
    "gradcam_agreement",
    "int8",
    "instructions",
    "options",
    "browsers",
    "openvino",
)
"""The benchmarks whose results the tables show."""


def read_results(folder: Path) -> list[ResultJson]:
    """The JSON files of `PARTS` in `folder`."""
    return [json.loads((folder / f"{part}.json").read_text()) for part in PARTS]


def tables(folder: Path) -> str:
    """All figures, for docs/costs.md, from the JSON files in `folder`."""
    overhead, peers, graft, agreement, int8, instructions, options, browsers, in_openvino = read_results(
        folder
    )
    parts = [
        "## Time of a frame",
        _setup(overhead["config"]),
        _cost_table(overhead),
        _threads_table(overhead),
        _growth_table(overhead),
        "## int8 networks",
        int8_table(int8),
        "## 64-bit ARM",
        instruction_table(instructions),
        "## Browsers",
        browser_table(browsers),
        "## OpenVINO",
        openvino_table(in_openvino),
        "## Single options",
        option_table(options),
        "## File size, load time and memory",
        "Each figure is the difference to the plain file.",
        _footprint_table(overhead),
        _grafting(graft),
        "## Agreement with a backward pass",
        _agreement(agreement),
        "## Other packages",
        _peers_intro(peers),
        _peer_table(peers["networks"]),
        "## Promises and aims",
        _promises(overhead),
        _missed_table(outcomes(overhead)),
    ]
    return "\n\n".join(part for part in parts if part)


def _setup(config: ResultJson) -> str:
    clock = "time" if config["clock"] == "wall" else "processor time"
    return paragraph(
        f"What `saliency_map` adds to a frame, in percent of the plain file's {clock}: {config['cpu']}, "
        f"onnxruntime {config['versions']['onnxruntime']}, one thread, batch 1, 224². "
        f"Each figure is the median of {config['rounds']} differences between runs in the same round. "
        "*Standard*: operators that every ONNX runtime has. *Compiled*: the same file, run by the compiled "
        "kernels. *Prepared*: a file made by `--prepared` for this device alone. *Naive*: the formulas "
        "grafted as they are printed in the paper. *Class maps on top*: what `cam`, `fastcam` and "
        "`nonclass` add to the compiled form. A figure below zero is measurement noise."
    )


def cost_row(run: ResultJson, forms: Iterable[str]) -> list[str]:
    """A network, its time without maps, and what the maps add in each form."""
    title, plain = NETWORKS[run["network"]].title, f"{run['plain']['median_ms']:.1f} ms"
    return [title, plain, *(_percent(run, form) for form in forms)]


def _cost_table(overhead: ResultJson) -> str:
    rows = []
    for run in overhead["overhead"]:
        if run["threads"] != 1:
            continue
        on_top = {"forms": run["classes_on_top"]}
        rows.append([
            *cost_row(run, ("naive", *FORM_TITLES)),
            _percent(on_top, "native") or _percent(on_top, "standard"),
        ])  # fmt: skip
    head = ["network", "plain", "naive", *FORM_TITLES.values(), "class maps on top"]
    return markdown_table(head, rows)


def _threads_table(overhead: ResultJson) -> str:
    """The table for two threads, with the networks for which a second core was free."""
    alone = {run["network"]: run for run in overhead["overhead"] if run["threads"] == 1}
    rows = [
        cost_row(run, FORM_TITLES)
        for run in overhead["overhead"]
        if run["threads"] == 2 and second_core_was_free(alone[run["network"]], run)
    ]
    return markdown_table(["on two threads", "plain", *FORM_TITLES.values()], rows) if rows else ""


def _growth_table(overhead: ResultJson) -> str:
    sizes = sorted({run["size"] for run in overhead["growth"]})
    runs = {(run["network"], run["size"]): run for run in overhead["growth"]}
    rows = [
        [
            f"{NETWORKS[network].title}, {title}",
            *(_percent(runs[network, size], form) if (network, size) in runs else "" for size in sizes),
        ]
        for network in dict.fromkeys(name for name, _ in runs)
        for form, title in FORM_TITLES.items()
    ]
    return markdown_table(["by input size", *(f"{size}²" for size in sizes)], rows)


def _footprint_table(overhead: ResultJson) -> str:
    rows = [
        [
            NETWORKS[network].title,
            f"{one['file_bytes'] / 1e6:.1f} MB",
            f"+{one['forms']['standard']['file_growth_bytes'] / 1e3:.0f} kB",
            f"{one['load']['median_ms']:.0f} ms",
            *(_load(one, form) for form in FORM_TITLES),
            *(_memory(one, form) for form in FORM_TITLES),
        ]
        for network, one in overhead["footprint"].items()
    ]
    standard, *others = FORM_TITLES.values()
    memory = [f"peak memory, {standard}", *others]
    return markdown_table(["network", "file", "grows by", "loads in", standard, *others, *memory], rows)


def _grafting(graft: ResultJson) -> str:
    (one,) = (one for one in graft["grafts"] if one["network"] == "resnet50")
    return paragraph(
        f"`fastcam export` of ResNet-50 ({one['file_bytes'] / 1e6:.0f} MB), its check included, takes "
        f"{one['command_seconds']:.1f} s and {one['peak_of_file']:.1f} times the file's size in memory."
    )


def _agreement(agreement: ResultJson) -> str:
    rows = agreement["agreement"]
    networks, pictures = len({row["network"] for row in rows}), len(agreement["config"]["pictures"])
    worst = max(row["difference"] for row in rows)
    return paragraph(
        "Our Grad-CAM and Grad-CAM++ need no backward pass. They differ from those of the package "
        f"`grad-cam`, which uses one, by at most {worst:.0e} of the map's range ({networks} networks, "
        f"{pictures} pictures, two classes each)."
    )


def _peers_intro(peers: ResultJson) -> str:
    versions = peers["config"]["versions"]
    packages = ", ".join(f"{name} {versions[name]}" for name in PEER_PACKAGES if name in versions)
    return paragraph(
        "All methods take turns in one run on one thread; the times are medians of "
        f"{peers['config']['rounds']} rounds ({packages}). The time of a frame includes its class and its "
        "map. *To ours* is the median of the ratios within the rounds, which on a shared machine is not the "
        "ratio of the medians. "
        "*Detail* is what the map is computed from: all scales, the last feature map, or the input's pixels."
    )


def _peer_table(networks: Sequence[ResultJson]) -> str:
    """One row for each method, two columns for each network."""
    timed = [{(row["package"], row["method"]): row for row in one["methods"]} for one in networks]
    every: dict[tuple[str, str], ResultJson] = {}
    for one in timed:
        for key, row in one.items():
            every.setdefault(key, row)
    rows = []
    for key, row in every.items():
        cells = [cell for one in timed for cell in (timing(one[key]) if key in one else ("", ""))]
        rows.append([f"{row['package']}: {row['method']}", *cells, row["computed_at"], row["returned"]])
    if networks[0]["openvino_missing"]:
        rows.append([f"openvino_xai: {networks[0]['openvino_missing']}", *[""] * (2 * len(networks) + 2)])
    titles = [title for one in networks for title in (NETWORKS[one["network"]].title, "to ours")]
    return markdown_table(["per frame", *titles, "detail", "map"], rows)


def _promises(overhead: ResultJson) -> str:
    """The promised and the desired cost of `saliency_map`."""
    runs = {run["network"]: run for run in overhead["overhead"] if run["threads"] == 1}
    rows = []
    for form, limits in MAP_LIMITS.items():
        for network, limit in limits.items():
            aim = AIMS[form].get(network)
            measured = runs.get(network, {"forms": {}})["forms"].get(form)
            cells = [f"{limit:g} %", f"{aim:g} %" if aim is not None else ""]
            if measured is None:
                continue
            missed = aim is not None and measured["percent"] > aim
            rows.append([
                NETWORKS[network].title,
                FORM_TITLES[form],
                f"{measured['percent']:.1f} %",
                *cells,
                "not reached" if missed else "",
            ])  # fmt: skip
    said = paragraph(
        "`benchmarks/tables/targets.py` has the promises; `make bench` fails if a promise is broken. An aim "
        "is stricter than the promise; missed aims are marked. *Prepared* is the default, from the cache. By "
        "default a file also opens no slower than the plain one."
    )
    return f"{said}\n\n{markdown_table(['network', 'form', 'measured', 'promised', 'aim', ''], rows)}"


def missed_targets(found: Sequence[Outcome]) -> list[tuple[str, str, Outcome]]:
    """Each missed target: the promise, the network and form, and the figures."""
    split = [(outcome.promise.rpartition(": "), outcome) for outcome in found if not outcome.kept]
    return [
        (what, subject.replace("native", FORM_TITLES["native"]), one) for (subject, _, what), one in split
    ]


def _missed_table(found: Sequence[Outcome]) -> str:
    rows = [[f"{subject}: {what}", *one.figures()] for what, subject, one in missed_targets(found)]
    said = f"Of {len(found)} promises about these figures, {len(rows)} are broken here."
    return f"{said}\n\n{markdown_table(['promise', 'measured', 'limit'], rows)}" if rows else said


def timing(row: ResultJson) -> tuple[str, str]:
    """The time of a method, and its ratio to ours."""
    ms, ratio = row["median_ms"], row["ratio_to_ours"]
    time = f"{ms:.1f} ms" if ms < 1000 else f"{ms / 1000:.1f} s"
    return time, f"{ratio:.2f}×" if ratio < 10 else f"{ratio:.0f}×"


def _percent(run: ResultJson, form: str) -> str:
    cost = run["forms"].get(form)
    return "" if cost is None else _signed(cost["percent"], 1, "%")


def _load(one: ResultJson, form: str) -> str:
    extra = one["forms"].get(form)
    return "" if extra is None else _signed(extra["load"]["percent"], 0, "%")


def _memory(one: ResultJson, form: str) -> str:
    extra = one["forms"].get(form)
    return "" if extra is None else _signed(extra["extra_peak_bytes"] / 1e6, 0, "MB")


def _signed(value: float, digits: int, unit: str) -> str:
    """With its sign and a typographic minus; no sign if it rounds to 0."""
    rounded = round(value, digits)
    text = f"{rounded:+.{digits}f}" if rounded else f"{0:.{digits}f}"
    return f"{text.replace('-', '−')} {unit}"
