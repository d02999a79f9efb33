"""What single options of `fastcam export` cost: each file against the one without the option.

    python -m benchmarks.options --rounds 100

Processor time on one thread. The two files and the plain network run in turns. The detector is left out if
its file is missing.
"""

from __future__ import annotations

import argparse
import functools
import json
import logging
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fastcam_export import export
from fastcam_runtime.measure.inputs import random_inputs
from fastcam_runtime.model.session import open_session
from fastcam_runtime.text import format_table

from .inputs.modules import plain_file
from .inputs.networks import DETECTORS, NETWORKS
from .measuring import report
from .measuring.forms import CLASS_MAPS
from .measuring.rounds import Contender, difference, measure, summary
from .paths import RESULTS
from .tables.option_table import HEAD, option_row

NAME = "options"
YOLOX = DETECTORS / "yolox_nano.onnx"


@dataclass(frozen=True)
class Case:
    """An option, and what it is compared with."""

    option: str
    network: str
    """A name of `NETWORKS`, or the file of a detector."""
    options: Mapping[str, Any]
    instead_of: Mapping[str, Any] = field(default_factory=dict)
    """The options of the other file."""
    compiled: bool = True

    @property
    def title(self) -> str:
        """The network as the tables name it."""
        return NETWORKS[self.network].title if self.network in NETWORKS else self.network

    def plain(self) -> Path:
        """The file of the network; it may be missing for a detector."""
        return plain_file(self.network) if self.network in NETWORKS else DETECTORS / self.network


_CAM = {"outputs": CLASS_MAPS}
CASES = (
    *(
        Case("--cam layercam", name, {**_CAM, "cam": "layercam"}, {**_CAM, "cam": "gradcam"})
        for name in ("mobilenet_v2", "efficientnet_lite0")
    ),
    Case("--cam gradcam", YOLOX.name, {**_CAM, "cam": "gradcam"}),
    Case("--frame-input 480x640", "efficientnet_lite0", {"frame_input": "480x640"}),
    Case("--map-output uint8", "efficientnet_lite0", {"map_output": "uint8"}),
    Case("--map-output rgba", "efficientnet_lite0", {"map_output": "rgba"}),
    *(
        Case(f"--target {target}", "efficientnet_lite0", {"target": target}, compiled=False)
        for target in ("nnapi", "coreml", "qnn", "tensorrt")
    ),
)


def cost(case: Case, rounds: int) -> dict[str, Any]:
    """The figures of one option."""
    RESULTS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=RESULTS) as folder:
        files = {"plain": case.plain()}
        for name, options in (("without", case.instead_of), ("with", case.options)):
            files[name] = Path(folder) / f"{name}.onnx"
            export(case.plain(), files[name], **options)
        contenders = {}
        for name, path in files.items():
            session = open_session(path, threads=1, provider="cpu", compiled=case.compiled)
            work = functools.partial(session.run, None, random_inputs(session, path))
            contenders[name] = Contender.of(name, work, "cpu")
        measure(list(contenders.values()), rounds)
    added = difference(contenders["without"], contenders["with"], whole=contenders["plain"])
    return {
        "option": case.option, "network": case.title, "compiled": case.compiled,
        "plain": summary(contenders["plain"]), "added": added,
    }  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    parser = argparse.ArgumentParser(prog="benchmarks.options", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=100, metavar="N", help="runs of each file (100)")
    options = parser.parse_args(arguments)
    cases = [case for case in CASES if case.network in NETWORKS or YOLOX.exists()]
    config = report.setup(rounds=options.rounds, clock="cpu")
    found = []
    for number, case in enumerate(cases, 1):
        print(f"{number} of {len(cases)}: {case.option}, {case.title}", file=sys.stderr, flush=True)
        found.append(cost(case, options.rounds))
    path = report.save(NAME, {"config": config, "options": found})
    saved = json.loads(path.read_text(encoding="utf-8"))
    print(format_table(HEAD, [option_row(one) for one in saved["options"]]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
