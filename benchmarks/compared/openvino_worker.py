"""Times openvino_xai's in-graph methods, in the virtual environment that `openvino_peer` makes for it.

Reads the name of a method per line, runs it once and answers with the milliseconds; its first line lists the
methods. It imports nothing from this project, which its environment does not have.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import openvino
import openvino_xai

METHODS = {"ReciproCAM": "RECIPROCAM", "ActivationMap": "ACTIVATIONMAP"}
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def compile_on_one_thread(model: Any) -> Any:
    """The model on the CPU, in float32 even if the processor supports bfloat16."""
    options = {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": 1}
    return openvino.Core().compile_model(model, "CPU", options)


def make_methods(path: str) -> dict[str, Any]:
    """The compiled network, and the same with each explanation inserted."""
    core = openvino.Core()
    compiled = {"plain": compile_on_one_thread(core.read_model(path))}
    for name, method in METHODS.items():
        explained = openvino_xai.insert_xai(
            core.read_model(path),
            openvino_xai.Task.CLASSIFICATION,
            explain_method=openvino_xai.Method[method],
        )
        compiled[name] = compile_on_one_thread(explained)
    return compiled


def timed(compiled: Any, picture: Any, now: Callable[[], float]) -> tuple[Callable[[], float], list[int]]:
    """A call for the milliseconds of one inference, and the shape of the last output: the map, if any."""
    request = compiled.create_infer_request()

    def once() -> float:
        started = now()
        request.infer([picture], share_inputs=True)
        return 1e3 * (now() - started)

    once()
    return once, list(request.get_output_tensor(len(compiled.outputs) - 1).data.shape)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("path")
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    options = parser.parse_args()
    answers, sys.stdout = sys.stdout, sys.stderr  # the library's prints must not look like an answer

    shape = (1, 3, options.size, options.size)
    picture = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    calls, shapes = {}, {}
    for name, compiled in make_methods(options.path).items():
        calls[name], shapes[name] = timed(compiled, picture, CLOCKS[options.clock])
    print(
        json.dumps({"openvino": openvino.__version__.partition("-")[0], "shapes": shapes}),
        file=answers,
        flush=True,
    )
    for line in sys.stdin:
        print(json.dumps(calls[line.strip()]()), file=answers, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
