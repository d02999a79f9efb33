"""Prepare a grafted file for this device: the form with the cheapest maps and the fastest load.

onnxruntime saves the optimised network, and `layout` lets the compiled kernels read activations as
they are stored in it. The maps are the same, but the file fits only this release of onnxruntime on this kind
of processor. Elsewhere the runtime refuses the file.
"""

from __future__ import annotations

import errno
import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import onnxruntime as ort

from .. import native
from ..contract import LOVI, Metadata
from ..errors import ModelError, first_line
from ..model import device
from ..model.feeds import random_feeds
from ..model.file import map_model
from ..model.session import open_session
from ..model.trial import difference, run_once
from ..model.watching import has_loop
from .layout import read_in_place

BLOCKS = (16, 8)
"""The block sizes to try if the processor's is not known."""


class NothingToPrepareError(ModelError):
    """onnxruntime stores no tensor in a layout that the compiled kernels could read directly."""


@dataclass(frozen=True)
class Prepared:
    """A prepared file, open and checked."""

    session: ort.InferenceSession
    metadata: Metadata
    """The metadata of the file."""


def prepare(grafted: Path, target: Path, metadata: Metadata) -> Metadata:
    """Write the grafted model to `target` as onnxruntime runs it on this device, and compare the two.

    Args:
        grafted: A grafted file with functions.
        target: The file to make; weights that were external are in it.
        metadata: That of the grafted file.

    Returns:
        The metadata of the prepared file.

    Raises:
        ModelError: There are no compiled kernels, or the file cannot be prepared for them.
        OSError: The disk is full.
    """
    if not native.usable():
        raise ModelError(f"a file can be prepared only for compiled kernels: {native.status()}")
    return lay_out(optimize(grafted, target), target, metadata, grafted.parent).metadata


def optimize(
    model: Path,
    target: Path,
    *,
    data: bytes | None = None,
    threads: int | None = None,
    compiled: bool = True,
) -> ort.InferenceSession:
    """Open a file as usual, and let onnxruntime save the optimised model.

    Args:
        model: A grafted file.
        target: The file to make.
        data: The bytes of a model pruned from that file, to use instead.
        threads: Threads that share one operator; None for the default.
        compiled: Use the compiled kernels.

    Raises:
        ModelError: onnxruntime cannot run it, or cannot save it.
        OSError: The disk is full.
    """
    try:
        return open_session(
            model, data=data, threads=threads, provider="cpu", compiled=compiled, optimized=target
        )
    except ModelError as error:
        # onnxruntime does not say why a file could not be written.
        if shutil.disk_usage(target.parent).free < sum(f.stat().st_size for f in model.parent.iterdir()):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target)) from error
        raise ModelError(f"onnxruntime cannot prepare the file: {error}") from error


def lay_out(
    ordinary: ort.InferenceSession,
    target: Path,
    metadata: Metadata,
    weights: Path,
    *,
    threads: int | None = None,
) -> Prepared:
    """Rewrite the saved model for the compiled kernels, and compare it with the ordinary session.

    Args:
        ordinary: The session that `optimize` opened.
        target: The file that it saved; it is replaced.
        metadata: That of the grafted file.
        weights: The folder of the grafted file: external weights move into `target`.
        threads: Threads of the new session.

    Raises:
        NothingToPrepareError: The kernels cannot read anything directly; `target` is not changed.
        ModelError: The outputs are not the same.
        OSError: The file cannot be written.
    """
    marked = replace(metadata, prepared=device.here())
    saved = map_model(target)
    reason = ""
    for block in [known] if (known := device.block()) else BLOCKS:
        parts = read_in_place(saved, block, marked, weights)
        if parts is None:
            continue
        beside = target.with_name(f"{target.name}.laid-out")
        with beside.open("wb") as file:
            file.writelines(parts)
        beside.replace(target)
        try:
            session = open_session(target, threads=threads, provider="cpu")
            reason = find_difference(ordinary, session, marked, loops=has_loop(target))
        except ModelError as error:
            reason = f"preparation failed: {error}"
        if not reason:
            return Prepared(session, marked)
        # Try the other block size.
    if reason:
        raise ModelError(f"the file cannot be prepared: the {reason}")
    raise NothingToPrepareError(
        "nothing to prepare: here onnxruntime stores no tapped tensor in whole blocks of channels"
    )


def find_difference(
    ordinary: ort.InferenceSession, other: ort.InferenceSession, metadata: Metadata, *, loops: bool
) -> str:
    """What the preparation did to an output, on a random picture; empty if all are the same.

    Raises:
        ModelError: The file cannot be run on a random picture.
    """
    try:
        feeds = random_feeds(ordinary.get_inputs(), metadata)
        expected, found = (run_once(session, metadata, feeds, loops=loops) for session in (ordinary, other))
    except Exception as error:  # of onnxruntime, or because of wrong metadata
        raise ModelError(f"it cannot be tried: {first_line(error)}") from error
    for name, values in expected.items():
        # Not LOVI: a difference in the last digit of a scale may change a byte.
        if name != LOVI and (why := difference(name, values, found)):
            return f"preparation {why}"
    return ""
