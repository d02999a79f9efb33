"""The cells of the retraining experiments, in the order of the plan, and their results as lines of JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..json_lines import append_result, read_results
from . import protocol

MODES = ("KAR", "ROAR")
WHOLE = "whole"
"""The network that the maps come from, trained and tested on whole photos."""


@dataclass(frozen=True)
class Cell:
    """One network to train: what is masked, how, and with which seed."""

    experiment: str
    """`layer`, `input` or `whole`."""
    method: str
    mode: str
    """`KAR` or `ROAR`."""
    at: float
    """The number of the scale (1…5), or the share of the photo's pixels."""
    seed: int

    def __str__(self) -> str:
        return f"{self.experiment} {self.method} {self.mode} {self.at:g} seed {self.seed}"


def planned(seeds: Sequence[int] = protocol.SEEDS) -> Iterator[Cell]:
    """All cells, in the order in which they are run."""
    # Two columns need the same random pixels: KAR of one share, and ROAR of the rest.
    yield from dict.fromkeys(_of_columns(seeds))


def _of_columns(seeds: Sequence[int]) -> Iterator[Cell]:
    for seed in seeds:
        yield Cell(WHOLE, "none", "KAR", 1.0, seed)
        yield from _layers((5, 4, 3), seed)
        yield from _inputs(protocol.CHEAP_INPUT_METHODS, protocol.FIRST_SHARES, seed)
        yield from _layers((2, 1), seed)
        others = [
            (mode, share)
            for share in protocol.SHARES
            for mode in MODES
            if (mode, share) not in protocol.FIRST_SHARES
        ]
        yield from _inputs(protocol.CHEAP_INPUT_METHODS, others, seed)
        yield from _inputs((protocol.SMOOTHGRAD,), [*protocol.FIRST_SHARES, *others], seed)


def _layers(layers: Sequence[int], seed: int) -> Iterator[Cell]:
    for layer in layers:
        for method in (*protocol.LAYER_METHODS, protocol.RANDOM):
            for mode in MODES:
                yield Cell("layer", method, mode, layer, seed)


def _inputs(methods: Sequence[str], shares: Sequence[tuple[str, float]], seed: int) -> Iterator[Cell]:
    for mode, share in shares:
        for method in methods:
            yield Cell("input", method, mode, share, seed)
        if protocol.SMOOTHGRAD not in methods:
            # For random pixels, ROAR of a share is the same as KAR of the rest.
            yield Cell("input", protocol.RANDOM, "KAR", share if mode == "KAR" else round(1 - share, 2), seed)


class Results:
    """The finished cells in a file, one line of JSON each; a stopped run can be continued.

    Args:
        path: The file; it may not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._found = accuracies(line for line in read_results(path) if line["protocol"] == protocol.VERSION)

    def accuracy(self, cell: Cell) -> float | None:
        """The cell's accuracy; None if it was not run under this version of the plan."""
        return self._found.get(cell)

    def add(self, cell: Cell, accuracy: float, **more: Any) -> None:
        """Add a result and write it to disk immediately."""
        line = {"protocol": protocol.VERSION, **asdict(cell), "accuracy": accuracy, **more}
        append_result(self._path, line)
        self._found.setdefault(cell, accuracy)


def accuracies(lines: Iterable[Mapping[str, Any]]) -> dict[Cell, float]:
    """By cell; the first one of a cell that was run twice."""
    found: dict[Cell, float] = {}
    for line in lines:
        cell = Cell(line["experiment"], line["method"], line["mode"], line["at"], line["seed"])
        found.setdefault(cell, line["accuracy"])
    return found
