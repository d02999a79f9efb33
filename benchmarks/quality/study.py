"""How well maps predict what a network needs: ours, candidates, other packages', controls. See `study_plan`.

    python -m benchmarks.quality.study --pictures 60 --hours 1

Every picture and network is a line of JSON in the results' file; a stopped run can be continued.
"""

from __future__ import annotations

import argparse
import sys
import time
import zipfile
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

import cv2
import numpy as np
import torch
from fastcam_export.evaluate.controls import CONTROLS, EDGES
from fastcam_export.evaluate.measures.agreement import rank_correlation
from fastcam_runtime.errors import FastcamError
from numpy.typing import NDArray

from ..paths import RESULTS
from . import study_plan
from .json_lines import append_result, read_results
from .scoring import areas, predicted
from .studied import DATA, PlainNetwork, Studied, studied_networks


def judge(network: Studied, frame: NDArray[np.uint8], seed: int) -> dict[str, dict[str, float]]:
    """Insertion, deletion and their difference for every map of one picture; the agreement with edges too."""
    seen = network.subject.see(frame)
    target = predicted(network.subject, seen.tensor)
    ours, peers = network.ours(seen.tensor), network.peers(seen.tensor)
    ours[study_plan.LAYERCAM_PRODUCT] = ours["saliency_map"] * peers["LayerCAM of two"]
    controls = {name: make(seen.picture, seed) for name, make in CONTROLS.items()}
    every = {**ours, **peers, **controls}
    return {
        name: {
            "score": round(insertion - deletion, 5),
            "insertion": round(insertion, 5),
            "deletion": round(deletion, 5),
            "edges": round(rank_correlation(every[name], controls[EDGES]), 4),
        }
        for name, (insertion, deletion) in areas(network.subject, seen.tensor, target, every).items()
    }


def pictures(data: Path, network: PlainNetwork, most: int) -> Iterator[tuple[str, NDArray[np.uint8]]]:
    """The first pictures of an archive in the plan's random order, by name; at most as many as the plan has.

    Raises:
        FastcamError: The archive is not there.
    """
    archive = data / network.archive
    if not archive.exists():
        raise FastcamError(f"{archive}: no such file; --data names the folder with the archives")
    with zipfile.ZipFile(archive) as opened:
        names = sorted(n for n in opened.namelist() if n.startswith(network.inside) and n.endswith(".jpg"))
        order = np.random.default_rng(study_plan.ORDER_SEED).permutation(len(names))
        for number in order[: min(most, network.most)]:
            frame = cv2.imdecode(np.frombuffer(opened.read(names[number]), np.uint8), cv2.IMREAD_COLOR)
            assert frame is not None  # the archives hold photos only
            yield names[number], np.asarray(frame, np.uint8)


def run(networks: Sequence[Studied], data: Path, most: int, results: Path, seconds: float) -> int:
    """Run the missing measurements until the time is up, picture by picture on all networks in turn."""
    lines = read_results(results)
    done = {(line["network"], line["picture"]) for line in lines if line["plan"] == study_plan.VERSION}
    started, count = time.monotonic(), 0
    streams = [pictures(data, one.network, most) for one in networks]
    for number, row in enumerate(zip_longest(*streams)):
        for one, picture in zip(networks, row, strict=True):
            if picture is None:  # the plan has fewer of this network
                continue
            name, frame = picture
            if (one.network.name, name) in done:
                continue
            if time.monotonic() - started > seconds:
                return count
            line = {
                "plan": study_plan.VERSION,
                "network": one.network.name,
                "picture": name,
                "number": number,
            }
            append_result(results, line | {"maps": judge(one, frame, number)})
            count += 1
            print(f"{one.network.name} {number} {name}", flush=True)
    return count


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the study that measurements beside it have too."""
    parser.add_argument("--data", type=Path, default=DATA, metavar="FOLDER", help="with the archives")
    parser.add_argument("--folder", type=Path, default=RESULTS / "quality", help="for the results")
    parser.add_argument("--resnet", type=Path, help="base-0.pt of the retraining, for the small ResNet")
    parser.add_argument(
        "--networks", nargs="+", default=study_plan.NAMES, choices=study_plan.NAMES, metavar="NAME",
        help=f"only these of {', '.join(study_plan.NAMES)}; ResNet-50 needs npm",
    )  # fmt: skip
    parser.add_argument(
        "--pictures", type=int, default=study_plan.PICTURES, metavar="N",
        help=f"per network, at most ({study_plan.PICTURES})",
    )  # fmt: skip
    parser.add_argument("--threads", type=int, default=1)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.quality.study", description=__doc__.partition("\n")[0])
    add_options(parser)
    parser.add_argument("--hours", type=float, default=2, help="start no picture after this time (2)")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    options.folder.mkdir(parents=True, exist_ok=True)
    networks = studied_networks(options.folder, options.resnet, options.threads, options.networks)
    results = options.folder / "study.jsonl"
    run(networks, options.data, options.pictures, results, 3600 * options.hours)
    return 0


if __name__ == "__main__":
    sys.exit(main())
