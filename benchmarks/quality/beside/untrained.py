"""What the map of an untrained network is worth, on the networks and pictures of the study; see `study_plan`.

    python -m benchmarks.quality.beside.untrained --resnet base-0.pt

All weights of a copy of the file are shuffled, for every picture anew, as in the sanity checks of `fastcam
evaluate`. Its map is scored with the probabilities of the trained network, which is what a map has to
explain. An edge filter is measured in the same run.
"""

from __future__ import annotations

import sys
import tempfile
from argparse import Namespace
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from fastcam_export.evaluate.controls import CONTROLS, EDGES, Map
from fastcam_export.evaluate.measures.shuffling import Shuffler, load_whole
from fastcam_export.evaluate.subject import FedPicture

from .. import reference
from ..studied import PlainNetwork
from ..study_plan import UNTRAINED
from .running import ScoresByMap, measure, scores_beside


def compare(network: PlainNetwork, options: Namespace) -> ScoresByMap:
    """Insertion minus deletion of the untrained network's map, of the edges and of `saliency_map`."""
    with tempfile.TemporaryDirectory() as folder:
        subject = network.subject(Path(folder), options.threads)
        shuffler = Shuffler(load_whole(subject.path, subject.map_names))
        orders = count()

        def others(seen: FedPicture, target: int) -> dict[str, Map]:
            untrained = shuffler.file(1.0, next(orders))
            return {
                UNTRAINED: subject.maps_with(untrained, seen.tensor, target)["saliency_map"],
                EDGES: CONTROLS[EDGES](seen.picture, 0),
            }

        return scores_beside(network, subject, options, others)


def main(arguments: Sequence[str] | None = None) -> int:
    return measure("untrained", __doc__, arguments, compare, reference.UNTRAINED)


if __name__ == "__main__":
    sys.exit(main())
