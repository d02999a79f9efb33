"""What a graft costs besides time per frame: bytes on disk, load time, memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from .forms import PLAIN, Files, TimedForm, available_forms
from .load_probe import probe
from .rounds import Contender, difference, measure, summary

_WARM_UP_LOADS = 1
"""The warm-up: it fills the system's file cache, and our cache of prepared files."""


class _Loads:
    """One form's file, opened in a fresh process once per round."""

    def __init__(self, files: Files, form: TimedForm, size: int, clock: str) -> None:
        # The prepared form is opened as by default: the grafted file, with a cache that is filled first.
        by_default = form.file == "prepared"
        self._path = files.grafted if by_default else form.path(files)
        self._cache = files.grafted.parent / "cache" if by_default else None
        self._form, self._size, self._clock = form, size, clock
        self._memory: list[tuple[float, float]] = []
        self.contender = Contender(form.name, self._load_ms)

    def _load_ms(self) -> float:
        measured = probe(
            self._path, self._size, native=self._form.native, clock=self._clock, cache=self._cache
        )
        self._memory.append((measured["peak_bytes"], measured["held_bytes"]))
        return measured["load_ms"]

    @property
    def memory(self) -> dict[str, int]:
        peak, held = np.median(self._memory, axis=0)
        return {"peak_bytes": int(peak), "held_bytes": int(held)}


def footprint(files: Files, size: int, *, loads: int, clock: str) -> dict[str, Any]:
    """Load time, file size and memory of the plain file, and what each form of `saliency_map` adds."""
    # Class maps have no target here, and the naive graft is only a reference for speed.
    judged = [form for form in available_forms(files) if form.file not in ("naive", "classes")]
    forms = [PLAIN, *judged]
    paths = {form.name: form.path(files) for form in forms}
    plain, *others = (_Loads(files, form, size, clock) for form in forms)
    measure([one.contender for one in (plain, *others)], loads, warm_up=_WARM_UP_LOADS)
    file_bytes = files.plain.stat().st_size
    return {
        "file_bytes": file_bytes,
        "load": summary(plain.contender),
        "memory": plain.memory,
        "forms": {
            one.contender.name: {
                "file_growth_bytes": paths[one.contender.name].stat().st_size - file_bytes,
                "load": difference(plain.contender, one.contender),
                "extra_peak_bytes": one.memory["peak_bytes"] - plain.memory["peak_bytes"],
                "extra_held_bytes": one.memory["held_bytes"] - plain.memory["held_bytes"],
            }
            for one in others
        },
    }
