"""Graft a form, compare its maps with the exact ones, and measure its time against the plain network."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from fastcam_runtime import Explainer, native
from fastcam_runtime.contract import MAP, Metadata
from fastcam_runtime.image import Array, Image
from fastcam_runtime.measure import paired as bench
from fastcam_runtime.measure import system
from fastcam_runtime.measure.conditions import conditions
from fastcam_runtime.model import providers
from fastcam_runtime.model.pruning import cut_file
from fastcam_runtime.model.session import default_threads
from fastcam_runtime.preprocess import Preprocessor

from ..api import export
from ..choices import COMPILED
from ..options import Options
from ..save.interruption import temporary_folder
from .budget import Budget
from .fidelity import Fidelity
from .forms import FUNCTIONS, Form

Measure = Callable[[Sequence[bench.Variant], int, Callable[[int], None]], None]
"""Runs all variants in every round and leaves the times in their samples; see `bench.measure`."""

MOST_PASSES = 4
"""The most repetitions of all rounds while noise hides whether a form is within the budget."""

Times = tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...], tuple[float, ...]]
"""The plain network's time in every round, and the grafted one's in the same rounds; both in CPU time."""


@dataclass(frozen=True)
class Measured:
    """A form, its cost and its fidelity."""

    form: Form
    approximation: str
    """What its file says it leaves out; empty for an exact form."""
    fidelity: Fidelity
    plain_ms: tuple[float, ...]
    """The plain network's time in every round."""
    samples_ms: tuple[float, ...]
    """Its own time in the same rounds."""
    plain_cpu_ms: tuple[float, ...]
    cpu_samples_ms: tuple[float, ...]
    """Both in CPU time, which other programs hardly change."""

    @cached_property
    def cost(self) -> bench.Difference:
        """Its own time minus the plain network's."""
        return bench.Difference.between(self.plain_ms, self.samples_ms)

    @cached_property
    def cpu_cost(self) -> bench.Difference:
        """The same in CPU time."""
        return bench.Difference.between(self.plain_cpu_ms, self.cpu_samples_ms)

    @property
    def plain(self) -> float:
        """The plain network's median, in ms."""
        return float(np.median(self.plain_ms))

    def is_close_to(self, budget: Budget) -> bool:
        """Whether noise hides if it is within the budget."""
        return budget.is_close(self.cost, self.plain)

    def is_surely_within(self, budget: Budget) -> bool:
        """Whether it is within the budget with 95 % confidence."""
        return budget.allows(self.cost) and not self.is_close_to(budget)

    def with_more(self, times: Times) -> Measured:
        """The same form after more rounds."""
        plain, own, plain_cpu, own_cpu = times
        return replace(
            self,
            plain_ms=self.plain_ms + plain,
            samples_ms=self.samples_ms + own,
            plain_cpu_ms=self.plain_cpu_ms + plain_cpu,
            cpu_samples_ms=self.cpu_samples_ms + own_cpu,
        )


class Workbench:
    """Makes and measures the forms of one network, in temporary folders.

    It first computes the exact maps with standard operators. All forms are compared with these.

    Args:
        model: The plain network, an `.onnx` file.
        graft_options: The options of the graft that all forms have.
        pictures: uint8 BGR pictures, at least one.
        options: Threads, rounds, provider, and whether compiled kernels are used.
        measure: Takes the times; by default those of this device.

    Raises:
        FastcamError: The model cannot be grafted or run as asked.
    """

    def __init__(
        self,
        model: Path,
        graft_options: Mapping[str, Any],
        pictures: Sequence[Image],
        options: bench.BenchOptions,
        measure: Measure = bench.measure,
    ) -> None:
        self.options = options
        self.pictures = pictures
        self._model = model
        self._graft_options = graft_options
        self._measure = measure
        # This also finds errors in the model or the options before anything is measured.
        with self._grafted(FUNCTIONS) as (path, _):
            self._exact_maps = self._maps(path, with_kernels=False)

    @cached_property
    def kernels(self) -> bool:
        """Whether compiled kernels are used."""
        on_cpu = providers.choose(self.options.provider)[0] == providers.CPU
        return self.options.compiled and on_cpu and native.usable()

    @property
    def statistic_has_kernel(self) -> bool:
        """Whether a compiled kernel computes the statistic, the largest part of the cost."""
        return self.kernels and Options(**self._graft_options).statistic == COMPILED

    def setup(self) -> dict[str, Any]:
        """The conditions of the measurement, in plain types."""
        options = self.options
        return {
            "cpu": system.cpu_name(),
            "provider": providers.short_name(providers.choose(options.provider)[0]),
            "threads": options.threads or default_threads(),
            "compiled_kernels": self.kernels,
            "versions": system.versions(),
            "conditions": conditions(),
            "rounds": options.rounds,
            "warm_up": bench.WARM_UP,
            "pictures": len(self.pictures),
        }

    def measure(
        self,
        form: Form,
        progress: Callable[[int, int], None] = lambda *_: None,
        budget: Budget | None = None,
    ) -> Measured:
        """Measure one form, alternating with the plain network so that noise affects both alike.

        While noise hides whether the form is within the `budget`, all rounds are repeated, up to
        `MOST_PASSES` times. `progress` is called with the rounds done and their total, and starts from 0
        again then.

        Raises:
            GraftError: The form cannot be grafted.
            FastcamError: It cannot be run.
        """
        total = bench.WARM_UP + self.options.rounds
        progress(0, total)
        with self._grafted(form) as (path, metadata):
            fidelity = Fidelity.between(
                self._exact_maps, self._maps(path, with_kernels=self.options.compiled)
            )
            plain = bench.open_variant("plain", path, self.options, cut_file(path))
            grafted = bench.open_variant(form.name, path, self.options)
            self._show_picture(metadata, plain, grafted)

            def run_rounds() -> Times:
                # The rounds of the warm-up have numbers below zero.
                self._measure(
                    [plain, grafted],
                    self.options.rounds,
                    lambda number: progress(bench.WARM_UP + number + 1, total),
                )
                both = (plain, grafted)
                wall, cpu = [tuple(v.samples) for v in both], [tuple(v.cpu_samples) for v in both]
                return wall[0], wall[1], cpu[0], cpu[1]

            measured = Measured(form, metadata.approximation, fidelity, *run_rounds())
            passes = 1
            while budget is not None and measured.is_close_to(budget) and passes < MOST_PASSES:
                progress(0, total)
                measured = measured.with_more(run_rounds())
                passes += 1
        return measured

    @contextmanager
    def _grafted(self, form: Form) -> Iterator[tuple[Path, Metadata]]:
        """The file of a form, in a temporary folder."""
        with temporary_folder("fastcam-tune-") as folder:
            target = folder / "form.onnx"
            yield target, export(self._model, target, **self._graft_options, **form.options).metadata

    def _show_picture(self, metadata: Metadata, *variants: bench.Variant) -> None:
        """Feed the first picture, at the size of the network's input, instead of random numbers."""
        for variant in variants:
            made_up = variant.feed[metadata.image.name]
            prepare = Preprocessor(
                metadata.image, metadata.preprocess, metadata.resize, made_up.dtype, made_up.shape[0]
            )
            variant.feed[metadata.image.name], _ = prepare(self.pictures[0])

    def _maps(self, path: Path, with_kernels: bool) -> list[Array]:
        options = self.options
        explain = Explainer(path, options.threads, options.provider, ["saliency_map"], compiled=with_kernels)
        maps = []
        for picture in self.pictures:
            explanation = explain(picture)
            # Leave out the bars of a letterbox.
            maps.append(np.array(explanation.geometry.undo(explanation.maps[MAP])))
        return maps
