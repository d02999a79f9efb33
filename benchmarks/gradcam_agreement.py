"""Our class maps against those of the package `grad-cam`: the same networks, pictures, classes and ε.

    python -m benchmarks.gradcam_agreement --check

Ours come from a forward pass in onnxruntime, theirs from torch's backward pass.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from fastcam_export import export
from fastcam_runtime.contract import CAM, CLASS_INPUT
from fastcam_runtime.model.session import open_session
from fastcam_runtime.text import format_table
from numpy.typing import NDArray

from .inputs.modules import LAST, exported_file, import_torchvision, module
from .inputs.networks import NETWORKS, check_name
from .inputs.pictures import pictures
from .measuring import report
from .paths import RESULTS

LIMIT = 1e-3
THEIR_EPSILON = 1e-6
"""In the denominator of grad-cam's Grad-CAM++."""
METHODS = {"gradcam": "GradCAM", "gradcam++": "GradCAMPlusPlus"}
RANKS = (0, 3)
"""Ranks of the explained classes: the most likely one, and an unlikely one."""


def compare(name: str, method: str, images: Mapping[str, NDArray[np.float32]]) -> dict[str, Any]:
    """The largest difference of two maps within 0…1, over all pictures and classes."""
    import_torchvision()  # first: pytorch_grad_cam would import it in the usual way
    import pytorch_grad_cam
    from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget

    network = module(name)
    theirs = getattr(pytorch_grad_cam, METHODS[method])(network, [LAST[name](network)])
    epsilon = THEIR_EPSILON if method == "gradcam++" else 0.0
    with tempfile.TemporaryDirectory(dir=RESULTS) as folder:
        file = Path(folder) / "cam.onnx"
        export(exported_file(name), file, outputs=["cam"], cam=method, cam_epsilon=epsilon)
        session = open_session(file, threads=1, provider="cpu")
    input_name = session.get_inputs()[0].name
    errors: dict[str, float] = {}
    for title, image in images.items():
        picture = torch.from_numpy(image)
        with torch.no_grad():
            ranking = network(picture).argsort(descending=True)[0]
        for rank in RANKS:
            wanted = int(ranking[rank])
            expected = theirs(picture, targets=[ClassifierOutputTarget(wanted)])
            (found,) = session.run([CAM], {input_name: image, CLASS_INPUT: np.array([wanted])})
            errors[f"{title}, class {wanted}"] = float(np.max(np.abs(found - expected)))
    at = max(errors, key=lambda where: math.inf if math.isnan(errors[where]) else errors[where])
    return {"network": name, "method": method, "difference": errors[at], "at": at}


def text(rows: Sequence[Mapping[str, Any]]) -> str:
    """The table for the terminal."""
    cells = [
        [NETWORKS[row["network"]].title, row["method"], f"{row['difference']:.1e}",
         "" if row["difference"] <= LIMIT else "MISSED", row["at"]]
        for row in rows
    ]  # fmt: skip
    return format_table(["network", "method", "max difference", "", "largest at"], cells)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks.gradcam_agreement", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--networks", default=",".join(NETWORKS), metavar="A,B", help="all")
    parser.add_argument("--pictures", type=int, default=8, metavar="N", help="how many (8)")
    parser.add_argument("--check", action="store_true", help=f"exit with 1 beyond {LIMIT}")
    options = parser.parse_args(arguments)
    if importlib.util.find_spec("pytorch_grad_cam") is None:
        print("not measured: the package grad-cam is not installed")
        return 0
    torch.set_num_threads(1)
    RESULTS.mkdir(exist_ok=True)
    images = pictures(options.pictures)
    names = [check_name(name) for name in options.networks.split(",")]
    rows = [compare(name, method, images) for name in names for method in METHODS]
    config = report.setup(("torch", "grad-cam"), pictures=list(images))
    report.save("gradcam_agreement", {"config": config, "limit": LIMIT, "agreement": rows})
    print(text(rows))
    return int(options.check and any(not row["difference"] <= LIMIT for row in rows))


if __name__ == "__main__":
    sys.exit(main())
