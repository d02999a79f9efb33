"""Measure what a file costs, with interleaved rounds and paired differences; the report is reproducible."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort

from ..contract import CHOICE_INPUTS, METADATA_KEY
from ..errors import FastcamError, ModelError, ort_errors_as
from ..image import Array
from ..limits import LOOP_SECONDS
from ..model import providers
from ..model.file import is_ort, sha256, summarize_file
from ..model.ort_format import summarize_ort
from ..model.pruning import cut_file
from ..model.session import describe_form, metadata_of, open_cut, open_session
from ..model.watching import Runner
from ..prepared.cache import open_cached
from . import system
from .conditions import conditions
from .inputs import random_inputs

WARM_UP = 10
MIN_ROUNDS = 6
"""Fewer differences give no 95 % confidence interval for their median."""
_RESAMPLES = 2000


@dataclass
class Variant:
    """One of the measured files, with its open session and its inputs."""

    name: str
    path: Path
    session: ort.InferenceSession
    load_ms: float
    feed: dict[str, Array]
    runner: Runner
    samples: list[float] = field(default_factory=list)
    """Milliseconds, one per round."""
    cpu_samples: list[float] = field(default_factory=list)
    """CPU time of all threads per round, in milliseconds: other load on the machine hardly changes it."""

    def run(self) -> None:
        """Run it once and keep the time."""
        started, cpu_started = time.perf_counter(), time.process_time()
        self.runner(self.session, None, self.feed)
        self.samples.append(1e3 * (time.perf_counter() - started))
        self.cpu_samples.append(1e3 * (time.process_time() - cpu_started))

    def statistics(self) -> dict[str, float]:
        """See the function `statistics`."""
        return statistics(self.samples)


def statistics(samples: Sequence[float]) -> dict[str, float]:
    """Average, percentiles, minimum and maximum, in the unit of the samples."""
    values = np.array(samples)
    percentiles = {f"p{q}": float(np.percentile(values, q)) for q in (50, 90, 95, 99)}
    return {
        "avg": float(values.mean()),
        **percentiles,
        "min": float(values.min()),
        "max": float(values.max()),
    }


@dataclass(frozen=True)
class Difference:
    """The grafted file's time minus the plain one's, round by round."""

    median: float
    quartiles: tuple[float, float]
    interval: tuple[float, float]
    """95 % bootstrap interval of the median."""
    percent: float
    """The median in percent of the plain file's median."""

    @property
    def within_noise(self) -> bool:
        """Whether the interval includes 0."""
        return self.interval[0] <= 0 <= self.interval[1]

    @classmethod
    def between(cls, plain: Sequence[float], grafted: Sequence[float]) -> Difference:
        """Compare the times of two variants that ran in the same rounds."""
        pairs = np.array(grafted) - np.array(plain)
        picks = np.random.default_rng(0).integers(0, pairs.size, (_RESAMPLES, pairs.size))
        medians = np.median(pairs[picks], axis=1)
        median = float(np.median(pairs))
        return cls(
            median,
            (float(np.percentile(pairs, 25)), float(np.percentile(pairs, 75))),
            (float(np.percentile(medians, 2.5)), float(np.percentile(medians, 97.5))),
            100 * median / float(np.median(plain)),
        )


@dataclass(frozen=True)
class BenchOptions:
    """What is run and how."""

    threads: int | None = None
    provider: str = "auto"
    rounds: int = 100
    compiled: bool = True
    cache: bool = False
    """Measure a grafted file as it is run by default: prepared for this device, from the cache."""

    def __post_init__(self) -> None:
        if self.rounds < MIN_ROUNDS:
            raise FastcamError(
                f"{self.rounds} rounds: at least {MIN_ROUNDS} are needed to tell a cost from noise"
            )


def open_variants(model: Path, baseline: Path | None, options: BenchOptions) -> list[Variant]:
    """The variants to measure, plain first.

    Without a `baseline`, the plain network is pruned from a grafted `.onnx` file. A plain file, and a grafted
    `.ort` file, are measured alone.

    Raises:
        ModelError: A file cannot be run.
        FastcamError: The two files do not take the same input.
    """
    opener = open_cached if options.cache else open_cut
    if providers.choose(options.provider)[0] == providers.CPU:
        # The first session also starts onnxruntime and loads the kernels, which is not part of a file's load;
        # nor is preparing the file. An accelerator may compile for minutes, so there it is left out.
        opener(model, threads=options.threads, provider="cpu", compiled=options.compiled)
    measured = open_variant("grafted", model, options, opener=opener)
    if METADATA_KEY not in metadata_of(model, measured.session):
        measured.name = "model"
    if baseline is not None:
        plain = open_variant("baseline", baseline, options)
    elif measured.name == "grafted" and not is_ort(model):
        plain = open_variant("plain", model, options, cut_file(model))
    else:
        return [measured]
    plain.feed = dict(zip(plain.feed, measured.feed.values(), strict=False))
    try:
        plain.runner(plain.session, None, plain.feed)
    except ModelError:
        raise
    except Exception as error:  # any of onnxruntime's types
        takes, asked = _words(plain.session), _words(measured.session)
        raise FastcamError(f"{plain.path} takes {takes}, {measured.path} takes {asked}") from error
    return [plain, measured]


def open_variant(
    name: str,
    path: Path,
    options: BenchOptions,
    data: bytes | None = None,
    *,
    opener: Callable[..., ort.InferenceSession] | None = None,
) -> Variant:
    """One variant: the file at `path`, or `data` pruned from it, with random inputs.

    Raises:
        ModelError: It cannot be run.
    """
    opened = functools.partial(open_session, data=data) if opener is None else opener
    if not is_ort(path):
        summarize_file(path)  # refuses weights outside the model's folder
    started = time.perf_counter()
    session = opened(path, threads=options.threads, provider=options.provider, compiled=options.compiled)
    load_ms = 1e3 * (time.perf_counter() - started)
    feed = random_inputs(session, path)
    runner = Runner(str(path), path)
    with ort_errors_as(ModelError, f"{path}: does not run"):
        runner(session, None, feed, trial=True)
    return Variant(name, path, session, load_ms, feed, runner)


def measure(variants: Sequence[Variant], rounds: int, progress: Callable[[int], None] | None = None) -> None:
    """Run every variant once per round, in alternating order; warm-up rounds do not count.

    Raises:
        ModelError: A variant has a loop, and is too slow to be measured.
    """
    _refuse_slow_loops(variants)
    for number in range(-WARM_UP, rounds):
        for variant in variants if number % 2 else reversed(variants):
            variant.run()
        if number == -1:
            for variant in variants:
                variant.samples.clear()
                variant.cpu_samples.clear()
        if progress is not None:
            progress(number)


def _refuse_slow_loops(variants: Sequence[Variant]) -> None:
    """Refuse a network with a loop if the fewest rounds would take longer than one run may."""
    seconds = 0.0
    for variant in variants:
        if variant.runner.loops:
            started = time.perf_counter()
            variant.runner(variant.session, None, variant.feed)
            seconds += time.perf_counter() - started
    rounds = WARM_UP + MIN_ROUNDS
    if rounds * seconds > LOOP_SECONDS:
        raise ModelError(
            f"{variants[-1].path}: too slow to be measured: {rounds} rounds take more than "
            f"{LOOP_SECONDS:g} s, and it has a loop"
        )


def report(variants: Sequence[Variant], options: BenchOptions) -> dict[str, Any]:
    """All measurements and their conditions, in JSON types."""
    session = variants[-1].session
    provider = session.get_providers()[0]
    path = variants[-1].path
    file = summarize_ort(path, session) if is_ort(path) else summarize_file(path)
    first, last = variants[0], variants[-1]
    paired = len(variants) > 1
    difference = Difference.between(first.samples, last.samples) if paired else None
    cpu_difference = Difference.between(first.cpu_samples, last.cpu_samples) if paired else None
    return {
        "cpu": system.cpu_name(),
        "provider": provider,
        "threads": session.get_session_options().intra_op_num_threads,
        "kernels": describe_form(session, file, compiled=options.compiled),
        "versions": system.versions(),
        "conditions": conditions(),
        "rounds": options.rounds,
        "warm_up": WARM_UP,
        "peak_rss_bytes": system.peak_rss_bytes(),
        "difference_ms": difference and vars(difference),
        "cpu_difference_ms": cpu_difference and vars(cpu_difference),
        "variants": [
            {
                "name": variant.name,
                "file": str(variant.path),
                "sha256": sha256(variant.path),
                "inputs": {name: list(tensor.shape) for name, tensor in variant.feed.items()},
                "outputs": [output.name for output in variant.session.get_outputs()],
                "load_ms": variant.load_ms,
                "statistics_ms": variant.statistics(),
                "samples_ms": variant.samples,
                "cpu_statistics_ms": statistics(variant.cpu_samples),
                "cpu_samples_ms": variant.cpu_samples,
            }
            for variant in variants
        ],
    }


def _words(session: ort.InferenceSession) -> str:
    inputs = [value for value in session.get_inputs() if value.name not in CHOICE_INPUTS]
    return " and ".join(
        f"{'×'.join(str(size or '?') for size in value.shape)} {value.type}" for value in inputs
    )
