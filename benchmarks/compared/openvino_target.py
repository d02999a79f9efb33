"""What the maps cost in OpenVINO: grafted files against the plain one, on one thread, in processor time.

    python benchmarks/compared/openvino_target.py plain.onnx grafted.onnx … [--rounds N]

For a virtual environment of its own with openvino and numpy; it imports nothing from this project. The batch
is fixed to 1 in every file, and float32 kept even if the processor supports bfloat16.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import openvino

FORMS = ("plain", "inline", "target")
"""The files in the order of the arguments: without maps, with `--inline`, with `--target openvino`."""
OPTIONS = {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": 1}


def request_of(path: Path) -> tuple[Any, list[np.ndarray]]:
    """A request that runs the file, and its inputs: a picture of noise, and the best class."""
    core = openvino.Core()
    model = core.read_model(path)
    image = model.inputs[0]
    shape = [1, *(size.get_length() for size in list(image.partial_shape)[1:])]
    model.reshape({image: shape, **{choice: [1] for choice in model.inputs[1:]}})
    picture = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    request = core.compile_model(model, "CPU", OPTIONS).create_infer_request()
    return request, [picture, *(np.array([-1], np.int64) for _ in model.inputs[1:])]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("network", help="its name in the results, such as mobilenet_v2")
    for form in FORMS:
        parser.add_argument(form, type=Path, metavar=f"{form.upper()}.onnx")
    parser.add_argument("--rounds", type=int, default=200, metavar="N", help="runs of each file (200)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="add the figures to this file")
    options = parser.parse_args()
    runs = [request_of(getattr(options, form)) for form in FORMS]
    times = np.zeros((options.rounds, len(runs)))
    order = np.random.default_rng(0)
    for round_ in range(-5, options.rounds):
        for k in order.permutation(len(runs)):
            request, inputs = runs[k]
            started = time.process_time()
            request.infer(inputs, share_inputs=True)
            if round_ >= 0:
                times[round_, k] = 1e3 * (time.process_time() - started)
    plain = float(np.median(times[:, 0]))
    figures: dict[str, Any] = {"plain_ms": round(plain, 3)}
    for form, column in zip(FORMS[1:], times.T[1:], strict=True):
        differences = (column - times[:, 0]) / plain * 100
        picks = np.random.default_rng(0).integers(0, options.rounds, (2000, options.rounds))
        low, high = np.percentile(np.median(differences[picks], axis=1), (2.5, 97.5))
        figures[form] = [round(float(value), 2) for value in (np.median(differences), low, high)]
    print(f"openvino {openvino.__version__}, {options.rounds} rounds, {options.network}: {figures}")
    if options.json is not None:
        found = json.loads(options.json.read_text()) if options.json.exists() else {"networks": {}}
        found |= {"openvino": openvino.__version__.partition("-")[0], "rounds": options.rounds}
        found["networks"][options.network] = figures
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
