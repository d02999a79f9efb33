"""The figures of the README and of docs/costs.md come only from the committed figures."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from fastcam_runtime import FastcamError

from benchmarks.costs import BEGIN, END, PAGES, accept, rewritten, summary, with_section
from benchmarks.inputs.networks import NETWORKS
from benchmarks.paths import REFERENCE
from benchmarks.tables import cost_tables
from benchmarks.tables.cost_tables import PARTS, tables
from benchmarks.tables.targets import outcomes


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_are_what_the_reference_generates(page: Path) -> None:
    assert rewritten(page, REFERENCE) == page.read_text(encoding="utf-8"), "run python -m benchmarks.costs"


@pytest.mark.parametrize("text", [summary, tables])
def test_a_changed_figure_changes_the_text(text: Callable[[Path], str], tmp_path: Path) -> None:
    accept(REFERENCE, tmp_path)
    assert text(tmp_path) == text(REFERENCE)
    overhead = json.loads((tmp_path / "overhead.json").read_text())
    overhead["overhead"][0]["forms"]["standard"]["percent"] = 123.4
    (tmp_path / "overhead.json").write_text(json.dumps(overhead))
    assert "+123.4 %" in text(tmp_path)
    assert "+123.4 %" not in text(REFERENCE)


def test_every_broken_promise_of_the_reference_is_told_on_both_pages() -> None:
    found = outcomes(json.loads((REFERENCE / "overhead.json").read_text()))
    missed = [outcome for outcome in found if not outcome.kept]
    short, full = (" ".join(text(REFERENCE).split()) for text in (summary, tables))
    told = f"{len(missed)} of {len(found)} promises are broken" if missed else f"All {len(found)} promises"
    assert told in short
    for outcome in missed:
        figure, _ = outcome.figures()
        network = outcome.promise.partition(",")[0]
        assert any(network in part and f" {outcome.measured:.3g} " in part for part in short.split(")"))
        assert any(network in row and figure in row for row in tables(REFERENCE).splitlines())
    assert f"Of {len(found)} promises about these figures, {len(missed)} are broken here" in full


def test_a_broken_promise_is_told_on_both_pages(tmp_path: Path) -> None:
    accept(REFERENCE, tmp_path)
    overhead = json.loads((tmp_path / "overhead.json").read_text())
    (run,) = (r for r in overhead["overhead"] if (r["network"], r["threads"]) == ("resnet50", 1))
    run["forms"]["native"]["percent"] = 1.61
    (tmp_path / "overhead.json").write_text(json.dumps(overhead))
    assert "promises are broken** (measured, and the limit in brackets)" in summary(tmp_path)
    assert "ResNet-50 compiled 1.61 % (1.5)" in " ".join(summary(tmp_path).split())
    assert "| ResNet-50, compiled: cost of the map | 1.61 % | 1.50 % |" in tables(tmp_path)


def test_the_readme_names_the_aims_that_are_missed(tmp_path: Path) -> None:
    accept(REFERENCE, tmp_path)
    int8 = json.loads((tmp_path / "int8.json").read_text())
    for run, percent in zip(int8["int8"], (49.9, 50.1), strict=True):
        run["forms"]["standard"]["percent"] = percent
    (tmp_path / "int8.json").write_text(json.dumps(int8))
    overhead = json.loads((tmp_path / "overhead.json").read_text())
    for run in overhead["overhead"]:
        for form in ("standard", "native", "prepared"):
            run["forms"][form]["percent"] = 0.25
    (tmp_path / "overhead.json").write_text(json.dumps(overhead))
    name = NETWORKS[int8["int8"][1]["network"]].title
    assert f"Stricter aims are missed by *standard* on {name} int8." in " ".join(summary(tmp_path).split())


def test_the_reference_is_a_full_run() -> None:
    """At least 100 rounds on all networks, as the page says; figures only, raw samples stay out."""
    overhead = json.loads((REFERENCE / "overhead.json").read_text())
    text = " ".join(tables(REFERENCE).split())
    assert overhead["config"]["rounds"] >= 100
    assert f"median of {overhead['config']['rounds']} differences" in text
    assert {run["network"] for run in overhead["overhead"]} == set(NETWORKS)
    assert all(f"| {network.title} |" in text for network in NETWORKS.values())
    assert all((REFERENCE / f"{part}.json").stat().st_size < 150_000 for part in PARTS)


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(12.34, 1, "+12.3 %"), (-0.41, 1, "−0.4 %"), (-0.04, 1, "0.0 %"), (-0.4, 0, "0 %"), (3.0, 0, "+3 %")],
)
def test_nothing_is_minus_zero(value: float, digits: int, text: str) -> None:
    assert cost_tables._signed(value, digits, "%") == text


def test_only_what_is_between_the_markers_is_rewritten() -> None:
    assert with_section(f"a\n{BEGIN}\nold\n{END}\nb\n", "new") == f"a\n{BEGIN}\nnew\n{END}\nb\n"


@pytest.mark.parametrize("readme", ["none", f"{BEGIN} alone", f"{END}{BEGIN}", f"{BEGIN}{END}{BEGIN}{END}"])
def test_markers_must_be_there_once(readme: str) -> None:
    with pytest.raises(FastcamError, match="once and in this order"):
        with_section(readme, "new")


def test_what_was_not_measured_to_the_end_is_not_accepted(tmp_path: Path) -> None:
    for part in PARTS:
        (tmp_path / f"{part}.json").write_text((REFERENCE / f"{part}.json").read_text())
    overhead = json.loads((tmp_path / "overhead.json").read_text())
    (tmp_path / "overhead.json").write_text(json.dumps({**overhead, "complete": False}))
    with pytest.raises(FastcamError, match="not measured completely"):
        accept(tmp_path, tmp_path / "reference")
    assert not (tmp_path / "reference").exists()


def test_without_an_emulator_the_instructions_of_the_reference_stay(tmp_path: Path) -> None:
    results, reference = tmp_path / "results", tmp_path / "reference"
    accept(REFERENCE, results)
    accept(REFERENCE, reference)
    (results / "instructions.json").unlink()
    accept(results, reference)
    assert (reference / "instructions.json").exists()


@pytest.mark.parametrize("part", ["browsers", "openvino"])
def test_other_runtimes_are_told_with_their_intervals(part: str) -> None:
    result = json.loads((REFERENCE / f"{part}.json").read_text())
    text = " ".join(tables(REFERENCE).split())
    if part == "openvino":
        found = {NETWORKS[name].title: one["target"] for name, one in result["networks"].items()}
    else:
        measured = [one for one in result["browsers"] if not one["int8"]]
        costs = [(one["difference_ms"], 100 / one["plain_ms"]) for one in measured]
        found = {
            NETWORKS[one["network"]].title: [cost["percent"], *(scale * end for end in cost["interval"])]
            for one, (cost, scale) in zip(measured, costs, strict=True)
        }
    for title, (middle, low, high) in found.items():
        cell = f"{middle:+.1f} % [{low:.1f}, {high:.1f}]".replace("-", "−")
        assert any(row.startswith(f" {title} |") and cell in row for row in text.split("| |")), (title, cell)


def test_int8_and_instructions_are_told_with_their_units() -> None:
    text = " ".join(tables(REFERENCE).split())
    assert "**Instructions, not time**" in text
    for part, key in (("int8", "int8"), ("instructions", "networks")):
        assert json.loads((REFERENCE / f"{part}.json").read_text())[key]
    (lite0,) = (
        row for row in json.loads((REFERENCE / "int8.json").read_text())["int8"] if "lite0" in row["network"]
    )
    assert f"EfficientNet-Lite0, int8 | | {lite0['forms']['standard']['percent']:+.1f} %" in text


def test_a_method_that_one_network_lacks_leaves_its_cells_empty() -> None:
    networks = json.loads((REFERENCE / "peers.json").read_text())["networks"]
    first, second = (one["methods"] for one in networks)
    gone, other = first.pop(3), second.pop(5)
    rows = cost_tables._peer_table(networks).splitlines()
    assert len({row.count("|") for row in rows}) == 1
    for missing, place in ((gone, 2), (other, 4)):
        (row,) = (r for r in rows if f" {missing['package']}: {missing['method']} |" in r)
        cells = [cell.strip() for cell in row.split("|")]
        assert [bool(cells[i]) for i in (2, 3, 4, 5)] == [i not in (place, place + 1) for i in (2, 3, 4, 5)]


def test_what_was_not_measured_is_not_accepted(tmp_path: Path) -> None:
    (tmp_path / "overhead.json").write_text("{}")
    with pytest.raises(
        FastcamError, match="not measured yet: peers, graft, gradcam_agreement, int8, options;"
    ):
        accept(tmp_path, tmp_path / "reference")
    assert not (tmp_path / "reference").exists()
