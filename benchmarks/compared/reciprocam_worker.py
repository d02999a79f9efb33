"""openvino_xai's ReciproCAM maps, in the virtual environment that `openvino_peer` makes for it.

Reads two file names per line, with a tab between them: a network input (`.npy`, 1×3×H×W float32), and where
the map of the class with the highest score goes (`.npy`, h×w uint8, as large as the last layer). Answers each
line with the class. It imports nothing from this project, which its environment does not have.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
import openvino
import openvino_xai


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("path")
    options = parser.parse_args()
    answers, sys.stdout = sys.stdout, sys.stderr  # the library's prints must not look like an answer
    core = openvino.Core()
    explained = openvino_xai.insert_xai(
        core.read_model(options.path),
        openvino_xai.Task.CLASSIFICATION,
        explain_method=openvino_xai.Method.RECIPROCAM,
    )
    settings = {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32"}
    request = core.compile_model(explained, "CPU", settings).create_infer_request()
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        source, target = line.rstrip("\n").split("\t")
        request.infer([np.load(source)])
        scores, maps = (request.get_output_tensor(number).data for number in range(2))
        chosen = int(scores[0].argmax())
        np.save(target, maps[0, chosen])
        print(chosen, file=answers, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
