"""Guided Backprop of captum on the networks and pictures of the study; see `study_plan`.

    python -m benchmarks.quality.beside.guided_backprop --resnet base-0.pt

It was measured again after the first run of the study, which gave it networks whose ReLU6 it did not find.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch
from fastcam_export.evaluate.controls import Map
from fastcam_export.evaluate.subject import FedPicture
from torch import nn

from ...inputs.modules import with_plain_relus
from .. import reference
from ..peer_maps import attributed
from ..studied import PlainNetwork, plain_networks, torch_module
from ..study_plan import GUIDED
from .running import arguments_of, save, scores_beside


def compare(
    network: PlainNetwork, module: nn.Module, data: Path, most: int, threads: int
) -> dict[str, list[float]]:
    """Insertion minus deletion of Guided Backprop and of `saliency_map`, picture by picture."""
    from captum.attr import GuidedBackprop

    guided = GuidedBackprop(with_plain_relus(module))

    def others(seen: FedPicture, target: int) -> dict[str, Map]:
        picture = torch.from_numpy(seen.tensor[None])
        return {GUIDED: attributed(lambda x: guided.attribute(x, target=target), picture)}

    with tempfile.TemporaryDirectory() as folder:
        return scores_beside(network, network.subject(Path(folder), threads), data, most, others)


def main(arguments: Sequence[str] | None = None) -> int:
    options = arguments_of("guided_backprop", __doc__, arguments)
    torch.set_num_threads(options.threads)
    results = {
        network.name: compare(
            network, torch_module(network, options.resnet), options.data, options.pictures, options.threads
        )
        for network in plain_networks(options.folder, options.resnet, options.networks)
    }
    save(options.folder / reference.GUIDED, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
