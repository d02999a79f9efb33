"""What the maps cost in OpenVINO: grafted files against the plain one, on one thread, in processor time.

    python benchmarks/compared/openvino_target.py plain.onnx grafted.onnx … [--rounds N]

For a virtual environment of its own with openvino and numpy; it imports nothing from this project. The batch
is fixed to 1 in every file, and float32 kept even if the processor supports bfloat16.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import openvino

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
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="the plain file, then grafted ones"
    )
    parser.add_argument("--rounds", type=int, default=200, metavar="N", help="runs of each file (200)")
    options = parser.parse_args()
    runs = [request_of(path) for path in options.files]
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
    print(f"openvino {openvino.__version__}, {options.rounds} rounds")
    for path, column in zip(options.files, times.T, strict=True):
        low, middle, high = np.percentile(column - times[:, 0], (25, 50, 75)) / plain * 100
        cost = f"{middle:+6.1f} %  quartiles {low:+.1f} … {high:+.1f}"
        print(f"{path.name:40} {np.median(column):7.2f} ms  {cost}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
