"""What a graft costs beside time per frame: bytes on disk, time to load, memory."""

from __future__ import annotations

from typing import Any

from .forms import PLAIN, Files, Form, available_forms, open_form
from .memory_probe import probe
from .rounds import Contender, difference, measure, summary

_WARM_UP_LOADS = 2


def footprint(files: Files, size: int, *, loads: int, clock: str) -> dict[str, Any]:
    """Load time, file size and memory of the plain file and of each form of `saliency_map`."""
    forms = [form for form in available_forms(classes=False) if form.name != "naive"]
    load_times = _load_times(files, [PLAIN, *forms], loads, clock)
    memory = {
        form.name: probe(getattr(files, form.file), size, native=form.native) for form in (PLAIN, *forms)
    }
    plain_bytes = files.plain.stat().st_size
    return {
        "file_bytes": plain_bytes,
        "load": summary(load_times[PLAIN.name]),
        "memory": memory[PLAIN.name],
        "forms": {
            form.name: {
                "file_growth_bytes": getattr(files, form.file).stat().st_size - plain_bytes,
                "load": difference(load_times[PLAIN.name], load_times[form.name]),
                "extra_peak_bytes": memory[form.name]["peak_bytes"] - memory[PLAIN.name]["peak_bytes"],
                "extra_held_bytes": memory[form.name]["held_bytes"] - memory[PLAIN.name]["held_bytes"],
            }
            for form in forms
        },
    }


def _load_times(files: Files, forms: list[Form], loads: int, clock: str) -> dict[str, Contender]:
    contenders = {
        form.name: Contender.of(form.name, lambda form=form: open_form(files, form, 1), clock)  # type: ignore[misc]
        for form in forms
    }
    measure(list(contenders.values()), loads, warm_up=_WARM_UP_LOADS)
    return contenders
