"""Maps that are measured beside the study: on its networks and pictures, in a run of their own."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from fastcam_export.evaluate.controls import Map
from fastcam_export.evaluate.subject import FedPicture, Subject
from fastcam_runtime.errors import FastcamError

from ..scoring import areas, predicted
from ..studied import PlainNetwork, plain_networks
from ..study import add_options, pictures

Others = Callable[[FedPicture, int], Mapping[str, Map]]
"""The maps to measure, by name, of a picture and the class that the network sees in it."""
ScoresByMap = dict[str, list[float]]
"""By map, insertion minus deletion of every picture."""
Compare = Callable[[PlainNetwork, argparse.Namespace], ScoresByMap]
"""Measures one network, with the options of the command line."""


def scores_beside(
    network: PlainNetwork, subject: Subject, options: argparse.Namespace, others: Others
) -> ScoresByMap:
    """Insertion minus deletion of `others` and of `saliency_map`.

    `saliency_map` is measured again so that a test can tell whether the pictures are those of the study.
    """
    found: ScoresByMap = {}
    for number, (name, frame) in enumerate(pictures(options.data, network, options.pictures)):
        seen = subject.see(frame)
        target = predicted(subject, seen.tensor)
        maps = {**others(seen, target), **subject.maps(seen.tensor)}
        for word, (insertion, deletion) in areas(subject, seen.tensor, target, maps).items():
            found.setdefault(word, []).append(round(insertion - deletion, 4))
        print(f"{network.name} {number} {name}", flush=True)
    print(network.name, {word: round(fmean(values), 3) for word, values in found.items()}, flush=True)
    return found


def measure(name: str, text: str | None, arguments: Sequence[str] | None, compare: Compare, file: str) -> int:
    """The command `benchmarks.quality.beside.NAME`; returns its exit code.

    The results of a network are written when it is done. One that cannot be measured is named.
    """
    options = _arguments_of(name, text, arguments)
    failed = 0
    for network in plain_networks(options.folder, options.resnet, options.networks):
        try:
            save(options.folder / file, {network.name: compare(network, options)})
        except FastcamError as error:
            print(f"{network.name}: {error}", file=sys.stderr)
            failed = 1
    return failed


def _arguments_of(name: str, text: str | None, arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options that every such measurement has, those of the study among them."""
    assert text is not None
    parser = argparse.ArgumentParser(
        prog=f"benchmarks.quality.beside.{name}", description=text.partition("\n")[0]
    )
    add_options(parser)
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    return options


def save(path: Path, results: Mapping[str, Mapping[str, Sequence[float]]]) -> None:
    """Write the scores by network and map; those of other networks in the file stay."""
    others = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    path.write_text(json.dumps({**others, **results}) + "\n", encoding="utf-8")
