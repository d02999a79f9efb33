"""What the maps and the class maps cost on detectors, in processor time on one thread.

    python -m benchmarks.detector_costs [FILE …] [--rounds 300] [--accept]

`saliency_map` against the plain file, and the class maps (`cam`, `fastcam`, `nonclass`) on top of it, with
standard operators and with the compiled kernels. `--accept` makes the result the committed reference and
writes it into docs/detectors.md.
"""

from __future__ import annotations

import argparse
import functools
import json
import logging
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fastcam_runtime.measure.inputs import random_inputs

from .costs import with_section
from .inputs.networks import DETECTORS
from .measuring import report
from .measuring.forms import PLAIN, available_forms, make_files, open_form
from .measuring.rounds import Contender, difference, measure, summary
from .paths import REFERENCE, RESULTS, ROOT
from .tables.markdown import markdown_table, paragraph, percent_cell

NAME = "detector_costs"
PAGE = ROOT / "docs" / "detectors.md"
AIM = 2.0
"""Percent of the network that its class maps may take on top of `saliency_map`, compiled."""


def costs(plain: Path, rounds: int) -> dict[str, Any]:
    """The figures of one detector."""
    RESULTS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=RESULTS) as folder:
        files = make_files(plain, Path(folder), naive=False)
        contenders = {}
        for form in (PLAIN, *available_forms(files)):
            session = open_form(files, form, 1)
            work = functools.partial(session.run, None, random_inputs(session, form.path(files)))
            contenders[form.name] = Contender.of(form.name, work, "cpu")
        measure(list(contenders.values()), rounds)
    whole = contenders.pop(PLAIN.name)
    on_top = {
        form: difference(contenders[form], contenders[f"{form}+classes"], whole=whole)
        for form in ("standard", "native")
        if form in contenders
    }
    forms = {
        form: difference(whole, one) for form, one in contenders.items() if not form.endswith("+classes")
    }
    return {"file": plain.name, "plain": summary(whole), "forms": forms, "classes_on_top": on_top}


def section(result: Mapping[str, Any]) -> str:
    """The figures for docs/detectors.md."""
    config = result["config"]
    said = paragraph(
        f"In percent of the plain detector's processor time, on one thread of {config['cpu']} (onnxruntime "
        f"{config['versions']['onnxruntime']}, medians of {config['rounds']} differences, load "
        f"{config['load_average']:g}); in brackets the 95 % interval of the median. *Class maps on top*: "
        f"`cam`, `fastcam` and `nonclass`, compiled; the aim is {AIM:g} %. Made by `python -m "
        "benchmarks.detector_costs`."
    )
    rows = [
        [
            one["file"],
            f"{one['plain']['median_ms']:.1f} ms",
            *(_percent(one["forms"].get(form)) for form in ("standard", "native", "prepared")),
            _percent(one["classes_on_top"].get("native")),
        ]
        for one in result["detectors"]
    ]
    head = ["detector", "plain", "standard", "compiled", "prepared", "class maps on top"]
    return f"{said}\n\n{markdown_table(head, rows)}"


def _percent(cost: Mapping[str, Any] | None) -> str:
    if cost is None:
        return ""
    return percent_cell(cost["percent"], cost["interval_percent"])


def main(arguments: Sequence[str] | None = None) -> int:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="plain detectors")
    parser.add_argument("--rounds", type=int, default=300, metavar="N", help="runs of each form (300)")
    parser.add_argument("--accept", action="store_true", help="make it the reference, and write the page")
    options = parser.parse_args(arguments)
    files = options.files or sorted(DETECTORS.glob("*.onnx"))
    if not files:
        parser.error("name the files of detectors")
    config = report.setup(rounds=options.rounds, clock="cpu")
    path = report.save(NAME, {"config": config, "detectors": [costs(one, options.rounds) for one in files]})
    text = section(json.loads(path.read_text(encoding="utf-8")))
    print(text)
    if options.accept:
        shutil.copyfile(path, REFERENCE / path.name)
        PAGE.write_text(with_section(PAGE.read_text(encoding="utf-8"), text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
