"""What onnxruntime really ran, from its own profile."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnxruntime as ort
from fastcam_runtime import native


def nodes_run(
    model: bytes, feed: Mapping[str, np.ndarray], folder: Path, *, compiled: bool
) -> list[tuple[str, str]]:
    """Name and operator of every node, in the order in which they ran, with the compiled kernels or without.

    Args:
        model: A serialised model.
        feed: Its inputs.
        folder: Where the profile is written.
        compiled: Register the compiled kernels, which have to be there.
    """
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.enable_profiling = True
    options.profile_file_prefix = str(folder / "profile")
    if compiled:
        assert native.register(options)
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    session.run(None, feed)
    events = json.loads(Path(session.end_profiling()).read_text())
    return [(event["name"], event["args"]["op_name"]) for event in events if event["cat"] == "Node"]
