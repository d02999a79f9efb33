"""Time per explained frame, compared with other packages: same network, machine and run, one thread.

    python -m benchmarks.peers --rounds 20

A frame is explained when its class and its map are known. Each round runs every method once, on a picture
that is preprocessed already. Methods of openvino_xai run in their own process, in the same rounds.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
from fastcam_runtime.contract import MAP
from fastcam_runtime.text import format_table

from .compared.openvino_peer import Unavailable, Worker
from .compared.torch_peers import NO_MAP, PEERS, hooked_smoe
from .inputs.modules import plain_file
from .inputs.networks import NETWORKS, SIZE, check_name, noise_picture
from .measuring import report
from .measuring.forms import PLAIN, STANDARD, Files, available_forms, make_files, open_form, runner
from .measuring.rounds import CLOCKS, Contender, difference, measure, summary
from .paths import RESULTS

logger = logging.getLogger(__name__)

WARM_UP = 2
AGREEMENT = 1e-3
"""Largest difference of the map by hooks from ours: the same formulas in another engine."""
PACKAGES = ("torch", "grad-cam", "torchcam", "captum")

OURS = "fastcam"
_TITLES = {
    "standard": "SMOE", "native": "SMOE, compiled kernels", "prepared": "SMOE, prepared file",
    "standard+classes": "SMOE and class maps", "native+classes": "SMOE and class maps, compiled kernels",
}  # fmt: skip


@dataclass(frozen=True)
class TimedMethod:
    """One method of the table, and where it is timed."""

    package: str
    method: str
    computed_at: str
    """Where the map's detail comes from: all `scales`, the `last` feature map, the input's `pixels`."""
    returned: str
    """The size of the returned map."""
    contender: Contender


def our_entries(files: Files, clock: str) -> Iterator[TimedMethod]:
    """The plain file and the grafted ones in onnxruntime."""
    plain = runner(open_form(files, PLAIN, 1), SIZE)
    yield TimedMethod("onnxruntime", NO_MAP, "", "", Contender.of("onnxruntime", plain, clock))
    for form in available_forms(files):
        if form.name in _TITLES:
            contender = Contender.of(form.name, runner(open_form(files, form, 1), SIZE), clock)
            yield TimedMethod(OURS, _TITLES[form.name], "scales", f"{SIZE}²", contender)


def torch_entries(name: str, clock: str) -> Iterator[TimedMethod]:
    """Every method that runs in torch; a package that is not installed is left out, with a warning."""
    picture = torch.from_numpy(noise_picture())
    for peer in PEERS:
        try:
            explain = peer.make(name)
        except ImportError as error:
            logger.warning("%s is left out: %s", peer.package, error)
            continue
        returned = f"{explain(picture).shape[-1]}²" if peer.computed_at else ""
        work: Callable[[], Any] = lambda explain=explain: explain(picture)  # type: ignore[misc]  # noqa: E731
        contender = Contender.of(f"{peer.package} {peer.method}", work, clock)
        yield TimedMethod(peer.package, peer.method, peer.computed_at, returned, contender)


def openvino_entries(worker: Worker) -> Iterator[TimedMethod]:
    """The methods of the worker, the network without a map first."""
    for method, shape in worker.shapes.items():
        contender = Contender(f"openvino {method}", lambda method=method: worker.time_ms(method))  # type: ignore[misc]
        if method == "plain":
            yield TimedMethod("openvino", NO_MAP, "", "", contender)
        else:
            yield TimedMethod("openvino_xai", method, "last", f"{shape[-1]}²", contender)


def check_hooks(name: str, files: Files) -> None:
    """Check that our map equals the one by torch hooks; otherwise the comparison would be unfair.

    Raises:
        RuntimeError: They differ.
    """
    picture = noise_picture()
    session = open_form(files, STANDARD, 1)
    (ours,) = session.run([MAP], {session.get_inputs()[0].name: picture})
    error = float(np.max(np.abs(ours - hooked_smoe(name)(torch.from_numpy(picture)).numpy())))
    if not error <= AGREEMENT:
        raise RuntimeError(f"{name}: the map by torch hooks is {error:.1e} away from ours")


def measure_network(name: str, options: argparse.Namespace) -> tuple[dict[str, Any], dict[str, list[float]]]:
    """One network's figures, and the raw samples."""
    missing, version = "left out", "not installed"
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=RESULTS)))
        files = make_files(plain_file(name), folder)
        check_hooks(name, files)
        engines = [list(our_entries(files, options.clock)), list(torch_entries(name, options.clock))]
        if options.openvino:
            try:
                worker = stack.enter_context(Worker(plain_file(name), SIZE, options.clock))
                engines.append(list(openvino_entries(worker)))
                missing, version = "", worker.version
            except Unavailable as error:
                missing = str(error)
        contenders = [entry.contender for engine in engines for entry in engine]
        measure(contenders, options.rounds, warm_up=WARM_UP)
    result = {
        "network": name, "openvino_version": version, "openvino_missing": missing, "methods": _rows(engines)
    }  # fmt: skip
    return result, report.samples_of(contenders)


def _rows(engines: Sequence[Sequence[TimedMethod]]) -> list[dict[str, Any]]:
    """Each method's time, its ratio to our map, and its cost compared with the same engine without a map.

    Our map is that of the ordinary file, not of a prepared one.
    """
    best = [entry for entry in engines[0] if entry.method in ("SMOE", "SMOE, compiled kernels")][-1]
    rows = []
    for plain, *others in engines:
        for entry in (plain, *others):
            ratios = np.array(entry.contender.samples) / np.array(best.contender.samples)
            rows.append({
                "package": entry.package, "method": entry.method,
                "computed_at": entry.computed_at, "returned": entry.returned,
                **summary(entry.contender),
                "ratio_to_ours": float(np.median(ratios)),
                "cost_percent": difference(plain.contender, entry.contender)["percent"],
            })  # fmt: skip
    return rows


def text(networks: Sequence[dict[str, Any]]) -> str:
    """The tables for the terminal."""
    parts = []
    for one in networks:
        rows = [
            [f"{row['package']}: {row['method']}", f"{row['median_ms']:.1f}",
             f"{row['p25_ms']:.1f}…{row['p75_ms']:.1f}", f"{row['ratio_to_ours']:.2f}×",
             f"{row['cost_percent']:+.0f} %" if row["computed_at"] else "",
             row["computed_at"], row["returned"]]
            for row in one["methods"]
        ]  # fmt: skip
        head = [NETWORKS[one["network"]].title, "ms", "quartiles", "to ours", "own cost", "detail", "map"]
        parts.append(format_table(head, rows))
        if one["openvino_missing"]:
            parts[-1] += f"\nopenvino_xai: {one['openvino_missing']}"
    return "\n\n".join(parts)


def one_thread() -> None:
    """Limit torch, OpenCV and, if threadpoolctl is installed, numpy's linear algebra to one thread."""
    torch.set_num_threads(1)
    cv2.setNumThreads(1)
    with suppress(ImportError):
        import threadpoolctl

        threadpoolctl.threadpool_limits(1)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.peers", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=20, metavar="N", help="runs of each method (20)")
    parser.add_argument("--networks", default="mobilenet_v2,resnet50", metavar="A,B")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="cpu: for a machine that is busy")
    parser.add_argument("--no-openvino", dest="openvino", action="store_false", help="leave openvino_xai out")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    one_thread()
    RESULTS.mkdir(exist_ok=True)
    config = report.setup(PACKAGES, rounds=options.rounds, clock=options.clock, threads=1)
    measured = [measure_network(check_name(name), options) for name in options.networks.split(",")]
    networks = [figures for figures, _ in measured]
    config["versions"]["openvino"] = networks[0]["openvino_version"]
    samples = {figures["network"]: raw for figures, raw in measured}
    report.save("peers", {"config": config, "networks": networks}, samples)
    print(f"{report.describe(config)}\n\n{text(networks)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
