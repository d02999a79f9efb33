"""Other explainers as contenders, on a small network; those whose package is not installed are skipped."""

from __future__ import annotations

import importlib.util
import json
import sys
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from fastcam_export.load.torch_module import export_torch
from support.oracle import method

from benchmarks import gradcam_agreement
from benchmarks.compared import openvino_peer, smoe_hooks, torch_peers
from benchmarks.inputs.networks import noise_picture

MODULES = {"grad-cam": "pytorch_grad_cam"}


class Small(torch.nn.Module):  # type: ignore[misc]
    """Five scales, pooling, one linear layer."""

    def __init__(self) -> None:
        super().__init__()
        widths = (3, 8, 8, 12, 12, 16)
        self.scales = torch.nn.Sequential(
            *(
                torch.nn.Sequential(torch.nn.Conv2d(a, b, 3, 2, 1), torch.nn.ReLU(inplace=True))
                for a, b in pairwise(widths)
            )
        )
        self.head = torch.nn.Linear(16, 10)

    def forward(self, picture: Any) -> Any:
        return self.head(self.scales(picture).mean((2, 3)))


def small() -> Small:
    torch.manual_seed(1)
    return Small().eval()


@pytest.fixture
def small_everywhere(monkeypatch: pytest.MonkeyPatch, torchvision: ModuleType, tmp_path: Path) -> None:
    """`resnet50` is the small network."""
    for part in (torch_peers, gradcam_agreement):
        monkeypatch.setattr(part, "module", lambda name: small())
        monkeypatch.setitem(part.LAST, "resnet50", lambda m: m.scales[-1])
    monkeypatch.setitem(smoe_hooks.TAPS, "resnet50", lambda m: m.scales)
    monkeypatch.setattr(gradcam_agreement, "RESULTS", tmp_path)


def test_smoe_by_hooks_equals_the_oracle() -> None:
    network, picture = small(), noise_picture(96)
    with torch.no_grad():
        taps, x = [], torch.from_numpy(picture)
        for scale in network.scales:
            x = scale(x)
            taps.append(x.numpy().copy())
    expected = method.combine([method.gauss(method.smoe(tap)) for tap in taps], smoe_hooks.WEIGHTS, 96, 96)
    scores, found = smoe_hooks.HookedSmoe(network, network.scales)(torch.from_numpy(picture))
    assert np.abs(found.numpy() - expected).max() <= 1e-5
    with torch.no_grad():
        assert torch.equal(scores, small()(torch.from_numpy(picture)))


@pytest.mark.slow
@pytest.mark.usefixtures("small_everywhere")
@pytest.mark.parametrize("peer", torch_peers.PEERS, ids=lambda peer: f"{peer.package} {peer.method}")
def test_every_peer_explains(peer: torch_peers.Peer) -> None:
    pytest.importorskip(MODULES.get(peer.package, peer.package))
    explain = peer.make("resnet50")
    picture = torch.from_numpy(noise_picture(64))
    first, again = (np.asarray(torch.as_tensor(explain(picture)).detach()) for _ in range(2))
    assert np.isfinite(first).all()
    np.testing.assert_allclose(first, again, atol=1e-6)
    if peer.computed_at:
        assert np.ptp(first) > 0, "a constant map explains nothing"
        assert first.shape[-2:] in ((64, 64), (2, 2))


@pytest.mark.slow
@pytest.mark.usefixtures("small_everywhere")
@pytest.mark.parametrize("kind", gradcam_agreement.METHODS)
def test_agreement_with_grad_cam(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pytorch_grad_cam")
    file = tmp_path / "small.onnx"
    file.write_bytes(export_torch(small(), None, (1, 3, 96, 96)).SerializeToString())
    monkeypatch.setattr(gradcam_agreement, "exported_file", lambda name: file)
    found = gradcam_agreement.compare("resnet50", kind, {"noise": noise_picture(96)})
    assert found["difference"] <= gradcam_agreement.LIMIT


def test_worker_answers_in_its_environment(tmp_path: Path) -> None:
    if not (openvino_peer.ENVIRONMENT / "installed.txt").exists():
        pytest.skip("make bench has not made the environment of openvino_xai")
    file = tmp_path / "small.onnx"
    file.write_bytes(export_torch(small(), None, (1, 3, 64, 64)).SerializeToString())
    with openvino_peer.Worker(file, 64, "wall") as worker:
        assert worker.shapes["plain"] == [1, 10]
        assert worker.shapes["ReciproCAM"][-2:] == [2, 2]
        assert all(worker.time_ms(method) > 0 for method in worker.shapes)


def test_worker_that_cannot_start_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python without openvino simulates a broken environment."""
    monkeypatch.setattr(openvino_peer, "make_environment", lambda: sys.executable)
    with pytest.raises(openvino_peer.Unavailable, match="its worker ended with code 1"):
        openvino_peer.Worker(tmp_path / "none.onnx", 64, "wall")


def test_plot(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plot = importlib.import_module("benchmarks.plot").plot
    cost = {"percent": 5.0, "interval_percent": [4.0, 6.0]}
    run = {"network": "resnet18", "threads": 1, "size": 224, "forms": {"naive": cost, "standard": cost}}
    method = {"package": "torch", "method": "no map", "median_ms": 3.0, "computed_at": ""}
    (tmp_path / "overhead.json").write_text(json.dumps({"overhead": [run], "growth": [run]}))
    without_peers = plot(tmp_path).read_bytes()
    peers = {"networks": [{"network": "resnet50", "methods": [method]}]}
    (tmp_path / "peers.json").write_text(json.dumps(peers))
    with_peers = plot(tmp_path).read_bytes()
    assert with_peers.startswith(b"\x89PNG")
    assert with_peers != without_peers


def test_what_is_missing_is_told_and_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plot = importlib.import_module("benchmarks.plot")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert gradcam_agreement.main(["--check"]) == 0
    assert plot.main(["--results", str(tmp_path)]) == 0
    monkeypatch.undo()
    assert capsys.readouterr().out.splitlines() == [
        "not measured: the package grad-cam is not installed",
        "no plot: the package matplotlib is not installed",
    ]
