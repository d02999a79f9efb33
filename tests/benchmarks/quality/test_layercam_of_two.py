"""The study's LayerCAM of two is grad-cam's; `--cam layercam` must give the same map."""

from __future__ import annotations

from pathlib import Path

import fastcam_export
import numpy as np
import onnxruntime as ort
import pytest
import torch

from benchmarks.quality.peer_maps import PeerMaps
from benchmarks.quality.retraining.protocol import SIZE
from benchmarks.quality.retraining.small_resnet import small_resnet


@pytest.mark.slow
@pytest.mark.usefixtures("torchvision")
def test_layercam_is_the_map_that_the_study_measured(tmp_path: Path) -> None:
    pytest.importorskip("pytorch_grad_cam")
    pytest.importorskip("captum")
    torch.manual_seed(3)
    network = small_resnet(10)
    with torch.no_grad():
        network(torch.randn(32, 3, SIZE, SIZE))  # statistics of the batch norms
    network.eval()
    picture = np.random.default_rng(5).standard_normal((3, SIZE, SIZE)).astype(np.float32)
    path = tmp_path / "layercam.onnx"
    fastcam_export.export(
        network, path, example=torch.zeros(1, 3, SIZE, SIZE), outputs=["cam"], cam="layercam"
    )
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    (found,) = session.run(["saliency_cam"], {session.get_inputs()[0].name: picture[None]})
    theirs = PeerMaps(lambda: network, lambda m: (m[3], m[4]))(picture)["LayerCAM of two"]
    assert np.ptp(theirs) > 0.5
    np.testing.assert_allclose(found[0], theirs, atol=1e-3)
