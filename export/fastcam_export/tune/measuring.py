"""Graft a form, compare its maps with the exact ones, and time it against the plain network."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
from fastcam_runtime import Explainer, bench, native, providers, system
from fastcam_runtime.branch import cut_file
from fastcam_runtime.contract import MAP, Metadata
from fastcam_runtime.preprocess import Preprocessor
from fastcam_runtime.session import default_threads
from fastcam_runtime.sources.base import Image

from ..api import export
from .fidelity import Array, Fidelity
from .forms import Form, exact_forms

Measure = Callable[[Sequence[bench.Variant], int, Callable[[int], None]], None]
"""Runs all variants in every round and leaves the times in their `samples`; see `bench.measure`."""

TOGETHER = 3
"""Forms measured in the same rounds: each holds the network's weights once more."""


@dataclass(frozen=True)
class Measured:
    """A form, what it costs and how faithful it is."""

    form: Form
    approximation: str
    """What its file says it leaves out; empty for an exact form."""
    cost: bench.Difference
    fidelity: Fidelity
    plain_ms: tuple[float, ...]
    """The plain network's time in every round."""
    samples_ms: tuple[float, ...]
    """Its own time in the same rounds."""


class Workbench:
    """Where the forms of one network are made and measured, in scratch folders that do not stay.

    It begins with the maps of the method itself, in standard operators, that all others are compared with.

    Args:
        model: The plain network, an `.onnx` file.
        graft_options: What is asked of the graft, whatever the form.
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
        # Also finds what is wrong with the model or the options, before anything is measured.
        with self._grafted(exact_forms(kernels=False)) as ((path, _),):
            self._exact_maps = self._maps(path, with_kernels=False)

    @cached_property
    def kernels(self) -> bool:
        """Whether compiled kernels take part."""
        on_cpu = providers.choose(self.options.provider)[0] == providers.CPU
        return self.options.native and on_cpu and native.register(ort.SessionOptions())

    def setup(self) -> dict[str, Any]:
        """What the times depend on, in plain types."""
        options = self.options
        return {
            "cpu": system.cpu_name(),
            "provider": providers.short_name(providers.choose(options.provider)[0]),
            "threads": options.threads or default_threads(),
            "compiled_kernels": self.kernels,
            "versions": system.versions(),
            "rounds": options.rounds,
            "warm_up": bench.WARM_UP,
            "pictures": len(self.pictures),
        }

    def measure(self, forms: Sequence[Form], progress: Callable[[int, int], None]) -> list[Measured]:
        """Measure forms, a few at a time, each in the same rounds as the plain network.

        Args:
            forms: Which.
            progress: Called with how many rounds are done, and how many there are.

        Raises:
            FastcamError: A form cannot be grafted or run.
        """
        groups = [forms[i : i + TOGETHER] for i in range(0, len(forms), TOGETHER)]
        rounds = bench.WARM_UP + self.options.rounds
        progress(0, len(groups) * rounds)

        def from_group(number: int) -> Callable[[int], None]:
            return lambda n: progress(number * rounds + bench.WARM_UP + 1 + n, len(groups) * rounds)

        return [
            measured
            for number, group in enumerate(groups)
            for measured in self._measure_group(group, from_group(number))
        ]

    def _measure_group(self, forms: Sequence[Form], progress: Callable[[int], None]) -> list[Measured]:
        with self._grafted(forms) as files:
            fidelity = [self._fidelity(path) for path, _ in files]
            variants = self._variants(forms, files)
            self._measure(variants, self.options.rounds, progress)
        plain, *others = variants
        return [
            Measured(
                form, metadata.approximation, bench.Difference.between(plain, variant), likeness,
                tuple(plain.samples), tuple(variant.samples),
            )
            for form, (_, metadata), likeness, variant in zip(forms, files, fidelity, others, strict=True)
        ]  # fmt: skip

    @contextmanager
    def _grafted(self, forms: Sequence[Form]) -> Iterator[list[tuple[Path, Metadata]]]:
        """The files of some forms, for as long as they are needed."""
        with tempfile.TemporaryDirectory(prefix="fastcam-tune-") as folder:
            targets = [Path(folder) / f"{number}.onnx" for number in range(len(forms))]
            yield [
                (target, export(self._model, target, **self._graft_options, **form.options).metadata)
                for form, target in zip(forms, targets, strict=True)
            ]

    def _variants(self, forms: Sequence[Form], files: Sequence[tuple[Path, Metadata]]) -> list[bench.Variant]:
        """The plain network, then each form, all fed with the first picture."""
        first, metadata = files[0]
        plain = bench.open_variant("plain", first, self.options, cut_file(first))
        variants = [plain]
        variants += [
            bench.open_variant(form.name, path, self.options)
            for form, (path, _) in zip(forms, files, strict=True)
        ]
        name = metadata.image.name
        made_up = plain.feed[name]
        prepare = Preprocessor(
            metadata.image, metadata.preprocess, metadata.resize, made_up.dtype, made_up.shape[0]
        )
        tensor, _ = prepare(self.pictures[0])
        for variant in variants:
            variant.feed[name] = tensor
        return variants

    def _fidelity(self, path: Path) -> Fidelity:
        return Fidelity.between(self._exact_maps, self._maps(path, with_kernels=self.options.native))

    def _maps(self, path: Path, with_kernels: bool) -> list[Array]:
        options = self.options
        explain = Explainer(path, options.threads, options.provider, ["saliency_map"], native=with_kernels)
        maps = []
        for picture in self.pictures:
            explanation = explain(picture)
            # Bars of a letterbox are no part of the picture.
            maps.append(np.array(explanation.geometry.undo(explanation.maps[MAP])))
        return maps
