"""The files of a measured network, and a session for each of its forms."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
from fastcam_export import export
from fastcam_export.errors import GraftError
from fastcam_runtime import native
from fastcam_runtime.contract import MAP
from fastcam_runtime.model.session import open_session

from ..inputs.networks import noise_picture
from .naive import graft_naively

logger = logging.getLogger(__name__)

CLASS_MAPS = ("saliency_map", "cam", "fastcam", "nonclass")
AGREEMENT = 1e-4
"""Largest difference of a map from the naive graft's, and (relative) of the scores from the plain file's."""


@dataclass(frozen=True)
class Files:
    """The plain file and what was grafted from it."""

    plain: Path
    naive: Path
    grafted: Path
    """With `saliency_map`."""
    classes: Path
    """With `saliency_map` and the class maps."""
    prepared: Path
    """With `saliency_map`, prepared for this device; missing if that is not possible."""


@dataclass(frozen=True)
class TimedForm:
    """How the maps are computed: from which of the `Files`, with or without the compiled kernels."""

    name: str
    file: str
    native: bool = False

    def path(self, files: Files) -> Path:
        """The path of its file, which may be missing."""
        path: Path = getattr(files, self.file)
        return path


PLAIN = TimedForm("plain", "plain")
STANDARD = TimedForm("standard", "grafted")
FORMS = (
    TimedForm("naive", "naive"),
    STANDARD,
    TimedForm("native", "grafted", native=True),
    TimedForm("prepared", "prepared", native=True),
    TimedForm("standard+classes", "classes"),
    TimedForm("native+classes", "classes", native=True),
)
"""`standard`: the exporter's standard operators; `native`: the same file with the compiled kernels;
`prepared`: another file, prepared for the kernels and this processor."""


def available_forms(files: Files) -> list[TimedForm]:
    """The forms that can run here: they have a file and, if native, onnxruntime loads the kernels."""
    usable = native.usable()
    return [form for form in FORMS if (usable or not form.native) and form.path(files).exists()]


def make_files(plain: Path, folder: Path, *, classes: bool = True, naive: bool = True) -> Files:
    """Graft `plain` into `folder`, with the exporter and naively."""
    names = ("naive.onnx", "grafted.onnx", "classes.onnx", "prepared.onnx")
    files = Files(plain, *(folder / name for name in names))
    grafted = export(plain, files.grafted)
    if naive:
        graft_naively(plain, files.naive, grafted.metadata)
    if classes:
        export(plain, files.classes, outputs=CLASS_MAPS)
    try:
        export(plain, files.prepared, prepared=True)
    except GraftError as error:
        logger.info("%s: no prepared form: %s", plain.name, error)
    return files


def open_form(files: Files, form: TimedForm, threads: int) -> ort.InferenceSession:
    """A session on the CPU for one form."""
    return open_session(form.path(files), threads=threads, provider="cpu", compiled=form.native)


def runner(session: ort.InferenceSession, size: int) -> Callable[[], list[Any]]:
    """A call that runs the session on a picture of noise; all outputs are fetched."""
    feed = {session.get_inputs()[0].name: noise_picture(size)}
    return lambda: session.run(None, feed)


def check_equal(sessions: dict[str, ort.InferenceSession], size: int) -> None:
    """Refuse to time a form with other results: scores must equal `plain`, maps `naive`.

    Raises:
        RuntimeError: A form's output differs.
    """
    results = {}
    for name, session in sessions.items():
        names = [output.name for output in session.get_outputs()]
        results[name] = dict(zip(names, runner(session, size)(), strict=True))
    for name, found in results.items():
        for output, expected in results["plain"].items():
            span = max(float(np.ptp(expected)), 1e-30)
            _refuse(name, output, float(np.max(np.abs(found[output] - expected))) / span)
        if "naive" in results and MAP in found:
            _refuse(name, MAP, float(np.max(np.abs(found[MAP] - results["naive"][MAP]))))


def _refuse(form: str, output: str, error: float) -> None:
    if not error <= AGREEMENT:
        raise RuntimeError(f"the form '{form}' computes another '{output}': it is {error:.1e} away")
