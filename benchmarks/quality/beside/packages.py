"""Maps of other packages that are measured beside the study, on its networks and pictures.

    python -m benchmarks.quality.beside.packages --resnet base-0.pt

Guided Backprop of captum: the first run of the study gave it networks whose ReLU6 it did not find.
Grad-CAM and Grad-CAM++ of grad-cam: the study itself has ours. Theirs adds 1e-6 to the denominator of
Grad-CAM++, ours nothing.
"""

from __future__ import annotations

import sys
import tempfile
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from fastcam_export.evaluate.controls import Map
from fastcam_export.evaluate.subject import FedPicture

from ...inputs.modules import import_torchvision, with_plain_relus
from .. import reference
from ..peer_maps import attributed
from ..studied import PlainNetwork, deepest, torch_module
from ..study_plan import GUIDED, THEIR_GRADCAM, THEIR_GRADCAM_PLUSPLUS
from .running import ScoresByMap, measure, scores_beside


def compare(network: PlainNetwork, options: Namespace) -> ScoresByMap:
    """Insertion minus deletion of the packages' maps and of `saliency_map`, picture by picture."""
    import_torchvision()  # grad-cam imports it
    import pytorch_grad_cam as package
    from captum.attr import GuidedBackprop

    torch.set_num_threads(options.threads)
    guided = GuidedBackprop(with_plain_relus(torch_module(network, options.resnet)))
    cams: dict[str, Any] = {}
    for name, method in (
        (THEIR_GRADCAM, package.GradCAM), (THEIR_GRADCAM_PLUSPLUS, package.GradCAMPlusPlus)
    ):  # fmt: skip
        module = torch_module(network, options.resnet)
        cams[name] = method(module, [deepest(network.name, module)[-1]])

    def others(seen: FedPicture, target: int) -> dict[str, Map]:
        picture = torch.from_numpy(seen.tensor[None])
        found = {name: np.asarray(cam(picture, targets=None)[0]) for name, cam in cams.items()}
        found[GUIDED] = attributed(lambda x: guided.attribute(x, target=target), picture)
        return found

    with tempfile.TemporaryDirectory() as folder:
        return scores_beside(network, network.subject(Path(folder), options.threads), options, others)


def main(arguments: Sequence[str] | None = None) -> int:
    return measure("packages", __doc__, arguments, compare, reference.PACKAGES)


if __name__ == "__main__":
    sys.exit(main())
